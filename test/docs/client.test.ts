import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServer } from '../../src';

const root = join(__dirname, '..', '..');

describe('docs/client.md', () => {
  const page = readFileSync(join(root, 'docs', 'client.md'), 'utf8');

  it('has snippets that print what they say, one after the other', async () => {
    const server = await startServer();
    const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code!);
    expect(blocks.length).toBeGreaterThan(3);
    const source = blocks.join('\n').replaceAll('http://127.0.0.1:6363', server.url);
    const expected = [...source.matchAll(/\/\/ → (.*)$/gm)].map(([, line]) => line);
    expect((await run(source)).trim().split('\n')).toEqual(expected);
    await server.stop();
  });

  it('names the settings that are in force', () => {
    const numbers = (path: string, pattern: RegExp): number =>
      Number(pattern.exec(readFileSync(join(root, 'src', 'client', path), 'utf8'))?.[1]?.replaceAll('_', ''));
    expect(page).toContain(`${numbers('batches.ts', /maxPoints: ([\d_]+),/).toLocaleString('en')} points`);
    expect(page).toContain(
      `${numbers('client.ts', /TIMEOUT_MS = ([\d_]+)/).toLocaleString('en')} when absent`,
    );
    expect(page).toContain(`(${numbers('http-transport.ts', /MAX_CONNECTIONS = ([\d_]+)/)})`);
    expect(page).toContain(`${numbers('retries.ts', /firstPauseMs: ([\d_]+)/)} ms`);
    expect(page).toContain(
      `up to ${numbers('retries.ts', /LONGEST_RETRY_AFTER_SECONDS = ([\d_]+)/)} seconds`,
    );
  });
});

/** Runs an ES module that imports the built package, and gives what it printed. The server is in this process. */
function run(source: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], { cwd: root });
    let printed = '';
    let failed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (failed += text));
    child.once('close', (code) => {
      if (code === 0) resolve(printed);
      else reject(new Error(failed));
    });
  });
}
