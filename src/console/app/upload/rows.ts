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
  let rest = '';
  let [line, ordinal] = [0, 0];
  const row = (text: string): Row | undefined => {
    line += 1;
    return text.trim() === '' ? undefined : jsonRow(text, line, ordinal++);
  };
  for await (const piece of textOf(file, progress)) {
    rest += piece;
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE) throw new Error(`Line ${line + lines.length + 1} has more than 64 MiB`);
    for (const text of lines) {
      const found = row(text);
      if (found !== undefined) yield found;
    }
  }
  const last = row(rest);
  if (last !== undefined) yield last;
}

/** The text of a file, without a byte order mark. @throws Error where it is none */
async function* textOf(file: File, progress: (bytes: number) => void): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = file.stream().getReader();
  let [read, line] = [0, 1];
  for (;;) {
    const { value, done } = await reader.read();
    read += value?.byteLength ?? 0;
    progress(read);
    let text: string;
    try {
      text = done ? decoder.decode() : decoder.decode(value, { stream: true });
    } catch {
      throw new Error(`Line ${line + linesBeforeError(value)} is not UTF-8: save the file in that encoding`);
    }
    line += text.split('\n').length - 1;
    yield text;
    if (done) return;
  }
}

const LINE_BREAK = 10;

/** How many lines end before the one that is no text. A character that began in an earlier part is in the first one. */
function linesBeforeError(part: Uint8Array = new Uint8Array()): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // Its last bytes, which go on with it, are no text by themselves.
  const begins = part.findIndex((byte) => (byte & 0xc0) !== 0x80);
  for (let [lines, from] = [0, Math.max(begins, 0)]; from < part.length; lines += 1) {
    const end = part.indexOf(LINE_BREAK, from);
    const next = end < 0 ? part.length : end + 1;
    try {
      decoder.decode(part.subarray(from, next));
    } catch {
      return lines;
    }
    from = next;
  }
  return 0;
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

/** Characters that the reader of CSV gets at a time: it reads a record again that goes on in the next part. */
const PART_LENGTH = 1 << 20;

/** The reader of CSV calls back with the rows of a part before it takes the next one. */
async function* csvRows(file: File, progress: (bytes: number) => void): AsyncGenerator<Row, void> {
  const { default: Papa } = await import('papaparse');
  const records = new Records();
  const parts = new Parts();
  let rows: readonly Row[] = [];
  let failure: Error | undefined;
  // Its own reading of files would make other characters of those that are no UTF-8, or stand where it cuts the file.
  Papa.parse<string[]>(parts as unknown as File, {
    // The header and empty lines stay, so that the places of problems and the numbers of lines are right.
    chunk: ({ data, errors }) => {
      // One without a row is of the whole file: that a delimiter could not be told, where there is one column.
      const problems = new Map(
        errors.flatMap(({ row, message }) => (row === undefined ? [] : [[row, message] as const])),
      );
      rows = records.rowsOf(data, problems);
    },
    error: (error) => {
      failure = error;
    },
    complete: () => undefined,
  });
  const take = (): readonly Row[] => {
    if (failure !== undefined) throw failure;
    const taken = rows;
    rows = [];
    return taken;
  };
  let [text, unread] = ['', 0];
  for await (const piece of textOf(file, progress)) {
    text += piece;
    if (text.length < PART_LENGTH) continue;
    parts.send('data', text);
    unread += text.length;
    text = '';
    const taken = take();
    if (taken.length > 0) unread = 0;
    if (unread > LONGEST_LINE) throw new Error('A record has more than 64 MiB: is a quote not closed?');
    yield* taken;
  }
  parts.send('data', text);
  yield* take();
  parts.send('end');
  yield* take();
}

/** What the reader of CSV takes for a stream of Node: it listens, and what is sent is parsed at once. */
class Parts {
  readonly readable = true;
  readonly #listeners = new Map<string, (text?: string) => void>();

  on(event: string, listener: (text?: string) => void): void {
    this.#listeners.set(event, listener);
  }

  removeListener(event: string): void {
    this.#listeners.delete(event);
  }

  /** Only there so that it is taken for a stream. */
  read(): void {
    throw new Error('The parts are sent');
  }

  send(event: 'data' | 'end', text?: string): void {
    this.#listeners.get(event)?.(text);
  }
}
