/** The rows of a file, read while it is sent: a file need not fit into memory. */
import { Records, type Row } from './records';

export type FileFormat = 'jsonl' | 'csv';

/** Longer lines are no points: the server takes no body that is larger. */
const LONGEST_LINE = 64 * 1024 * 1024;

export function formatOf(name: string): FileFormat {
  return /\.csv$/i.test(name) ? 'csv' : 'jsonl';
}

/** The rows of a file in their order. `progress` is called with the bytes read so far. */
export function rowsOf(
  file: File,
  format: FileFormat,
  progress: (bytes: number) => void,
): AsyncGenerator<Row, void> {
  return format === 'csv' ? csvRows(file, progress) : jsonRows(file, progress);
}

async function* jsonRows(file: File, progress: (bytes: number) => void): AsyncGenerator<Row, void> {
  const decoder = new TextDecoder('utf-8');
  const reader = file.stream().getReader();
  let rest = '';
  let [line, ordinal] = [0, 0];
  let read = 0;
  const row = (text: string): Row | undefined => {
    line += 1;
    return text.trim() === '' ? undefined : jsonRow(text, line, ordinal++);
  };
  for (;;) {
    const { value, done } = await reader.read();
    read += value?.byteLength ?? 0;
    progress(read);
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
    const lines = rest.split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    if (rest.length > LONGEST_LINE) throw new Error(`Line ${line + lines.length + 1} has more than 64 MiB`);
    for (const text of lines) {
      const found = row(text);
      if (found !== undefined) yield found;
    }
    if (done) return;
  }
}

/** The text stays as it is: numbers are not read and written again. */
function jsonRow(text: string, line: number, ordinal: number): Row {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { line, ordinal, text };
    return { line, problem: 'A line must be a JSON object' };
  } catch (error) {
    return { line, problem: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

interface Chunk {
  readonly rows: Row[];
  readonly resume: () => void;
}

/** The reader of CSV calls back; it is paused while its rows are sent. */
async function* csvRows(file: File, progress: (bytes: number) => void): AsyncGenerator<Row, void> {
  const { default: Papa } = await import('papaparse');
  const chunks: Chunk[] = [];
  const records = new Records();
  let wake: () => void = () => undefined;
  let end: { error?: Error } | undefined;
  let isStopped = false;
  Papa.parse<string[]>(file, {
    // The header and empty lines stay, so that the places of problems and the numbers of lines are right.
    chunk: ({ data, errors, meta }, parser) => {
      // One without a row is of the whole file: that a delimiter could not be told, where there is one column.
      const problems = new Map(
        errors.flatMap(({ row, message }) => (row === undefined ? [] : [[row, message] as const])),
      );
      const rows = records.rowsOf(data, problems);
      progress(meta.cursor);
      if (isStopped) {
        parser.abort();
        return;
      }
      parser.pause();
      chunks.push({
        rows,
        resume: () => {
          parser.resume();
        },
      });
      wake();
    },
    complete: () => {
      end = {};
      wake();
    },
    error: (error) => {
      end = { error };
      wake();
    },
  });
  try {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        yield* chunk.rows;
        chunk.resume();
      } else if (end !== undefined) {
        if (end.error !== undefined) throw end.error;
        return;
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    isStopped = true;
  }
}
