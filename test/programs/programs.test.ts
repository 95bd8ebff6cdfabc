import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGuardedServer, type GuardedServer } from '../clients/guarded-server';
import { python } from '../clients/python';
import { itUnless, type Missing } from '../missing';

interface Program {
  readonly name: string;
  /** Where its packages are: see {@link commandOf}. */
  readonly environment: string;
  readonly script: string;
  /** Those in which every call works. */
  readonly dialects: readonly string[];
}

const programs = JSON.parse(readFileSync(join(__dirname, 'programs.json'), 'utf8')) as readonly Program[];

const root = join(__dirname, '..', '..');

/** Those whose packages the tests have anyway; the others are run by `npm run test:long` (suite `programs`). */
const ALWAYS = new Set(['venv', 'client', 'repository']);
const isTried = ({ environment, dialects }: Program, dialect: string): boolean =>
  process.env['TESTED_PROGRAMS'] === 'all'
    ? dialects.includes(dialect)
    : ALWAYS.has(environment) && dialects[0] === dialect;

/** How long one may take on a machine that is busy. */
const LIMIT_MS = 300_000;

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What runs a program. Its environment is a folder of its own, apart from those that {@link ALWAYS} names. */
function commandOf({ environment, script }: Program): Command {
  const path = join(__dirname, script);
  const folder = join(root, '.build', 'programs', environment);
  if (!script.endsWith('.py')) {
    const args = ['--require', join(__dirname, 'stand-ins.cjs'), path];
    return {
      file: process.execPath,
      args,
      cwd: environment === 'repository' ? root : folder,
      env: process.env,
    };
  }
  const isOurs = environment === 'venv' || environment === 'client';
  // Dify is used with a release that still has the calls of its module.
  const release = join(root, '.build', 'qdrant-client', '1.15.1');
  const env = { ...process.env, ...(environment === 'client' && { PYTHONPATH: release }) };
  return { file: isOurs ? python : join(folder, 'bin', 'python'), args: ['-B', path], cwd: tmpdir(), env };
}

function missingFor(program: Program): Missing {
  const { file, cwd } = commandOf(program);
  return existsSync(file) && existsSync(cwd) ? undefined : 'no packages (npm run test:long -- programs)';
}

describe.each(['specification', 'qdrant'])('C9.1, C12 programs, unchanged, in the dialect %s', (dialect) => {
  const tried = programs.filter((program) => isTried(program, dialect));
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-programs-'));
  let server: GuardedServer;
  let token: string;

  beforeAll(async () => {
    server = await startGuardedServer(join(folder, 'data'), ['--dialect', dialect]);
    token = await server.accessToken('read,write');
  });

  // Some of them look at, or delete, all collections that there are.
  beforeEach(async () => {
    const call = async (method: string, path: string): Promise<unknown> =>
      (await fetch(server.url + path, { method, headers: { 'api-key': token } })).json();
    const { result } = (await call('GET', '/collections')) as { result: { collections: { name: string }[] } };
    for (const { name } of result.collections) await call('DELETE', `/collections/${name}`);
  });

  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });

  for (const program of tried) {
    itUnless(missingFor(program))(
      program.name,
      async () => {
        const { file, args, cwd, env } = commandOf(program);
        const { stdout } = await promisify(execFile)(file, [...args, server.url, token], { cwd, env });
        // Some of them print greetings of their own first.
        const report = JSON.parse(stdout.trim().split('\n').at(-1)!) as { steps: number; failures: string[] };
        expect(report.failures).toEqual([]);
        expect(report.steps).toBeGreaterThanOrEqual(10);
      },
      LIMIT_MS,
    );
  }
});

test('docs/programs.md names each program, its version and its dialects', () => {
  const page = readFileSync(join(root, 'docs', 'programs.md'), 'utf8');
  for (const { name, dialects } of programs) {
    const row = page.split('\n').find((line) => line.startsWith(`| ${name} `)) ?? '';
    expect([name, row.includes(dialects.length === 2 ? 'either' : '`qdrant`')]).toEqual([name, true]);
  }
});
