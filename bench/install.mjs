/**
 * `npm run bench:install [-- --runs N] [--out FILE]`: what a first user waits for. `npm install kithdb` from a local
 * registry that has everything, with an empty cache of npm; the size on the disk; `npx kithdb` until it is ready with an
 * empty data directory; and its resident memory after a rest, when what the start needed is free again. Linux only, for
 * the memory.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installFrom, publishOwn } from '../scripts/package/from-registry.mjs';
import { installedBytes } from '../scripts/package/installation.mjs';
import { MANAGERS, prepareRegistryTools, startRegistry } from '../scripts/package/registry.mjs';
import { output } from '../scripts/build/process.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { memoryOf } from './proc.mjs';

const REST_MS = 10_000;

/** What a release must reach. */
const MUST = { install_s: 5, installed_mb: 30, ready_ms: 600, resident_mb: 90 };

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '5' }, out: { type: 'string' } },
});
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) throw new Error('--runs: a whole number from 1 on');

const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-install-'));
const node = await prepareRegistryTools();
const registry = await startRegistry(node, join(folder, 'registry'));
try {
  await publishOwn(registry, folder);
  // The first installation fills the registry; it does not count.
  await installFrom(registry, 'npm 11', join(folder, 'first'), node);
  const installs = [];
  const starts = [];
  for (let run = 0; run < runs; run += 1) {
    const place = join(folder, `run-${run}`);
    const { env, seconds } = await installFrom(registry, 'npm 11', place, node);
    installs.push(seconds);
    starts.push(await timedStart(place, env));
  }
  const bytes = installedBytes(join(folder, 'run-0', 'node_modules'));
  report({
    install_s: median(installs),
    installed_mb: bytes / 1e6,
    ready_ms: median(starts.map(({ readyMs }) => readyMs)),
    resident_mb: median(starts.map(({ residentMb }) => residentMb)),
    runs,
    node: await output(node, ['--version']),
    machine: machine('bench:install'),
  });
} finally {
  await registry.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** `npx kithdb` in a folder where it is installed, until the line that says that it is ready. */
async function timedStart(place, env) {
  const dataDir = join(place, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const args = ['exec', '--no', '--', 'kithdb', '--port', '0', '--data-dir', dataDir];
  const server = await startServer(MANAGERS['npm 11'], args, env, [], [node], place);
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const pid = Number(readFileSync(join(dataDir, 'lock'), 'utf8'));
  const { resident } = memoryOf(pid);
  process.kill(pid, 'SIGTERM');
  await server.stop();
  return { readyMs: server.readyAfterMs, residentMb: resident / 1e6 };
}

function report(result) {
  console.log(`Node ${result.node}, load of the machine ${result.machine.load_before.toFixed(1)}`);
  for (const [name, most] of Object.entries(MUST)) {
    const value = result[name];
    console.log(
      `${name.padEnd(14)} ${value.toFixed(1).padStart(8)}  must ${most}: ${value <= most ? 'met' : 'MISSED'}`,
    );
  }
  if (values.out === undefined) return;
  writeFileSync(resolve(process.env.INIT_CWD ?? '.', values.out), `${JSON.stringify(result, null, 2)}\n`);
}
