import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runsAll } from '../sample';
import { startGuardedServer } from './guarded-server';
import { python, whenThereIsPython } from './python';

const root = join(__dirname, '..', '..');
const compatibility = join(root, 'docs', 'compatibility.md');

/** What compare.py and dialect.py print. */
interface Report {
  readonly compared: Record<string, number>;
  readonly differences: readonly string[];
  readonly skipped: Record<string, string>;
}

async function compare(name: string, url: string, token: string): Promise<Report> {
  const script = join(__dirname, 'python', name);
  const child = spawn(python, ['-B', script, url, token], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  if (!out.startsWith('{')) throw new Error(`${name} failed:\n${err}`);
  return JSON.parse(out) as Report;
}

/** The report of a comparison with a server of its own. */
async function reportOf(script: string, flags: readonly string[]): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-python-client-'));
  const server = await startGuardedServer(join(folder, 'data'), flags);
  try {
    return await compare(script, server.url, await server.accessToken('read,write'));
  } finally {
    expect(await server.stop()).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('qdrant-client for Python, unchanged, with authentication enabled (C9.1)', () => {
  whenThereIsPython.each([
    ['compare.py', [], runsAll ? 1800 : 900],
    ['dialect.py', ['--dialect', 'qdrant'], 150],
  ] as const)(
    'answers as its own in-memory mode does, but for the differences that are listed: %s %j (C12)',
    async (script, flags, least) => {
      const report = await reportOf(script, flags);
      expect(report.differences).toEqual([]);
      const compared = Object.values(report.compared).reduce((sum, count) => sum + count, 0);
      expect(compared).toBeGreaterThan(least);
      const listed = readFileSync(compatibility, 'utf8');
      for (const topic of Object.keys(report.skipped)) expect(listed).toContain(`| ${topic} `);
    },
    240_000,
  );
});
