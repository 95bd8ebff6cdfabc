import { PassThrough, Readable } from 'node:stream';
import { run } from '../../src/cli/run';

/** What a command gave. */
export interface Outcome {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, with this environment alone. */
export async function runCommand(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const [out, err] = [streams.stdout, streams.stderr].map((stream) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    return chunks;
  });
  const code = await run(argv, { env, stdin: Readable.from([]), ...streams });
  await new Promise(setImmediate);
  const text = (chunks: readonly Buffer[] = []): string => Buffer.concat(chunks).toString();
  return { code, out: text(out), err: text(err) };
}
