/** The rows of a file, read while it is sent: a file need not fit into memory. */

export type FileFormat = 'jsonl' | 'csv';

/** A row, or why there is none. `place` is a line of JSONL, or a record of CSV below the header; both begin at 1. */
export type Row =
  | { readonly place: number; readonly text: string }
  | { readonly place: number; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly place: number; readonly problem: string };

/** Longer lines are no points: the server takes no body that is larger. */
const LONGEST_LINE = 64 * 1024 * 1024;

export function formatOf(name: string): FileFormat {
  return /\.csv$/i.test(name) ? 'csv' : 'jsonl';
}

export function placeName(format: FileFormat): string {
  return format === 'csv' ? 'record' : 'line';
}

/** The rows of a file in their order. `progress` is told how many bytes are read. */
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
  let place = 0;
  let read = 0;
  const row = (line: string): Row | undefined => {
    place += 1;
    return line.trim() === '' ? undefined : jsonRow(line, place);
  };
  for (;;) {
    const { value, done } = await reader.read();
    read += value?.byteLength ?? 0;
    progress(read);
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
    const lines = rest.split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    if (rest.length > LONGEST_LINE) throw new Error(`Line ${place + lines.length + 1} has more than 64 MiB`);
    for (const line of lines) {
      const found = row(line);
      if (found !== undefined) yield found;
    }
    if (done) return;
  }
}

/** The text stays as it is: numbers are not read and written again. */
function jsonRow(text: string, place: number): Row {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { place, text };
    return { place, problem: 'A line must be a JSON object' };
  } catch (error) {
    return { place, problem: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
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
  let place = 0;
  let wake: () => void = () => undefined;
  let end: { error?: Error } | undefined;
  let isStopped = false;
  Papa.parse<Record<string, string>>(file, {
    header: true,
    skipEmptyLines: true,
    chunk: ({ data, errors, meta }, parser) => {
      const problems = new Map(errors.map(({ row, message }) => [row ?? 0, message]));
      const rows = data.map((fields, index): Row => {
        place += 1;
        const problem = problems.get(index);
        return problem === undefined ? { place, fields: typed(fields) } : { place, problem };
      });
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

/** Values that JSON writes without quotes become those; empty ones are left out. */
function typed(fields: Readonly<Record<string, string>>): Record<string, unknown> {
  const entries = Object.entries(fields).filter(([, value]) => value !== '');
  return Object.fromEntries(entries.map(([name, value]) => [name, typedValue(value)]));
}

function typedValue(text: string): unknown {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) {
    const value = Number(text);
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? text : value;
  }
  return text;
}
