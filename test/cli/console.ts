import { PassThrough, Readable } from 'node:stream';
import { run } from '../../src/cli/run';

/** How a command ended, in this process. */
export interface Outcome {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

/** What a command is given besides its arguments. */
export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Readable & { isTTY?: boolean };
  /** The width of the terminal that standard output is; it is a pipe when absent. */
  readonly columns?: number;
}

/** Runs a command with streams of its own. */
export async function kithdb(
  argv: readonly string[],
  { env = {}, stdin = Readable.from([]), columns }: Surroundings = {},
): Promise<Outcome> {
  const stdout = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  const stderr = new PassThrough();
  const [out, err] = [collect(stdout), collect(stderr)];
  const code = await run(argv, { env, stdin, stdout, stderr });
  await new Promise(setImmediate);
  return { code, out: out(), err: err() };
}

function collect(stream: PassThrough): () => string {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}
