import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startBuiltServer, type BuiltServer } from './guarded-server';
import { python, whenThereIsPython } from './python';

const run = promisify(execFile);
const root = join(__dirname, '..', '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The code blocks of the README in a language, in their order. */
function blocks(language: string): string[] {
  return [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, found, code]) =>
    found === language && code !== undefined ? [code] : [],
  );
}

describe('the tour of the README works as it is written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-readme-'));
  let server: BuiltServer;
  let token: string;

  beforeAll(async () => {
    server = await startBuiltServer(join(folder, 'data'));
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Code as the README has it, but for the port. */
  function here(code: string): string {
    return code.replaceAll('http://127.0.0.1:6363', server.url);
  }

  test('every curl command gets the answer that the text promises', async () => {
    await run(process.execPath, [join(root, 'scripts', 'example.mjs'), '--url', server.url]);
    const commands = blocks('sh').filter((code) => code.includes('curl'));
    const script = here(commands.join('\n')).replace(/^curl/gm, 'echo; curl');
    const { stdout } = await run('bash', ['-euc', `${script}\necho; echo "$TOKEN"`]);

    const lines = stdout.split('\n').filter((line) => line !== '');
    token = lines.pop()!;
    const answers = lines.map((line) => JSON.parse(line) as { status: unknown; result?: unknown });
    const names = (answer: (typeof answers)[number]) =>
      (answer.result as { points: { payload: { name: string } }[] }).points.map(
        ({ payload }) => payload.name,
      );

    expect(names(answers[0]!)).toEqual(['tshark', 'wireshark', 'wireshark-common']);
    expect(names(answers[1]!)).toHaveLength(3);
    expect(answers[2]!.result).toEqual({ count: 42 });
    expect(names(answers[3]!)[0]).toBe('singularity-music');
    expect(answers[6]!.result).toMatchObject([{ id: 1, payload: { text: 'buy milk' } }]);
    expect(answers.map(({ status }) => status)).toEqual([
      ...Array<string>(7).fill('ok'),
      'success',
      'ok',
      { error: 'Invalid or missing authorization token' },
      'ok',
    ]);
    expect(token).toMatch(/^kith_\w{49}$/);
  });

  test('the JavaScript program prints three packages that are not in the section net', async () => {
    const { stdout } = await run(process.execPath, ['-e', here(blocks('js')[0]!)], {
      cwd: root,
      env: { ...process.env, TOKEN: token },
    });
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^0\.63 libwiretap13 - /),
      expect.stringMatching(/^0\.60 libwiretap-dev - /),
      expect.stringMatching(/^0\.\d\d [\w-]+ - /),
    ]);
  });

  whenThereIsPython('the Python program prints the three packages that are most like tcpdump', async () => {
    const { stdout } = await run(python, ['-c', here(blocks('python')[0]!)], {
      env: { ...process.env, TOKEN: token },
    });
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^0\.81 tshark - /),
      expect.stringMatching(/^0\.81 wireshark - /),
      expect.stringMatching(/^0\.77 wireshark-common - /),
    ]);
  });
});
