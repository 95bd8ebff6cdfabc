/**
 * `npm run bench:browse -- …`: the first view of the console, and browsing a collection of a thousand points beside a large
 * one: the requests of the Points page, and the page in a browser. Browser and server share the machine.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../scripts/build/tree.mjs';
import { launchChromium } from '../scripts/chromium.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { browse, loadBoth } from './console/browse.mjs';
import { firstViews, pointPages } from './console/views.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { ask } from './load/calls.mjs';
import { machine } from './machine.mjs';

const USAGE = `npm run bench:browse -- [flags]

  --points N     points of the large collection; default: 1000000
  --rounds N     how often each request is sent, and each view opened; default: 21
  --out FILE     write everything measured as JSON
`;

const options = {
  points: { type: 'string', default: '1000000' },
  rounds: { type: 'string', default: '21' },
  out: { type: 'string' },
};
const flags = readFlags(options, USAGE, { points: whole, rounds: whole });
const points = Number(flags.points);
const rounds = Number(flags.rounds);
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-browse-'));
let server;
let browser;

async function run() {
  const args = ['--port', '0', '--data-dir', join(folder, 'data'), '--log-level', 'warn'];
  server = await startServer(join(root, 'bin', 'kithdb.js'), args);
  await loadBoth(call, new URL(server.url), points);
  const requests = await browse(new URL(server.url), points, rounds);
  browser = await launchChromium();
  const report = {
    ...{ points, rounds, machine: machine('bench:browse') },
    'first view': await firstViews(browser, server.url, rounds),
    'median milliseconds until the points are shown': await pointPages(
      browser,
      server.url,
      ['few', 'many'],
      rounds,
    ),
    'median milliseconds of a request': requests,
  };
  console.log(JSON.stringify(report, null, 2));
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

function call(method, path, body) {
  return ask(server, method, path, body);
}

await untilInterrupted(run, async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});
