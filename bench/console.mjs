/**
 * `npm run bench:console -- --data FOLDER …`: the map of the console. How long the server projects, how long a browser with
 * graphics in software draws, and how much script a frame takes while a user zooms, looks around and draws a lasso. Browser
 * and server share the machine.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { launchChromium } from '../scripts/chromium.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { sendAll } from './load.mjs';
import { ask } from './load/calls.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { upsertsOf } from './points.mjs';

const USAGE = `npm run bench:console -- --data FOLDER [flags]

  --data FOLDER  a folder with meta.json (see data/debian-small/README.md); required
  --points N     points of the collection and of the map; where the set has fewer, more are made of its vectors, each moved
                 a little; default: 100000
  --rounds N     how often each is measured; default: 3
  --out FILE     write everything measured as JSON
`;

const CONNECTIONS = 4;
const BATCH = 256;
const POLL_MS = 500;
/** How far a made vector is moved, as a share of its length. */
const MOVED = 0.25;
/** Steps of each gesture, one a frame. */
const STEPS = 60;
const FRAME_MS = 16;

const SOFTWARE_GRAPHICS = [
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--ignore-gpu-blocklist',
];
/** Script on the main thread, as traces name it. */
const SCRIPT = new Set([
  'FunctionCall',
  'EvaluateScript',
  'RunMicrotasks',
  'FireAnimationFrame',
  'TimerFire',
  'EventDispatch',
]);

const options = {
  data: { type: 'string' },
  points: { type: 'string', default: '100000' },
  rounds: { type: 'string', default: '3' },
  out: { type: 'string' },
};
const flags = readFlags(options, USAGE, { points: whole, rounds: whole });
const set = readVectorSet(flags.data);
const points = Number(flags.points);
const rounds = Number(flags.rounds);
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-console-'));
let server;
let browser;

async function run() {
  const args = ['--port', '0', '--data-dir', join(folder, 'data'), '--log-level', 'warn'];
  server = await startServer(join(root, 'bin', 'kithdb.js'), args);
  await ingest();
  const seconds = { pca: [], umap: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const method of ['pca', 'umap']) seconds[method].push(await project(method, round));
  }
  browser = await launchChromium(SOFTWARE_GRAPHICS);
  const drawn = [];
  const frames = {};
  for (let round = 0; round < rounds; round += 1) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
    drawn.push(await draw(page));
    for (const [name, gesture] of Object.entries(GESTURES))
      (frames[name] ??= []).push(await scriptOf(page, gesture));
    await page.close();
  }
  const report = {
    ...{ set: set.name, points, dims: set.dims, machine: machine('bench:console') },
    'median seconds to project': { pca: median(seconds.pca), umap: median(seconds.umap) },
    'median milliseconds from the answer to the drawn map': median(drawn),
    'milliseconds of script a frame': Object.fromEntries(
      Object.entries(frames).map(([name, all]) => [
        name,
        {
          median: rounded(median(all.map((of) => of.median))),
          most: rounded(Math.max(...all.map((of) => of.most))),
        },
      ]),
    ),
    'each round': { seconds, drawn, frames },
  };
  console.log(JSON.stringify(report, null, 2));
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

async function ingest() {
  await call('PUT', '/collections/c', { vectors: { size: set.dims, distance: set.distance } });
  const url = new URL(server.url);
  await sendAll(url, CONNECTIONS, Math.ceil(points / BATCH), (at) => {
    const ids = Array.from(
      { length: Math.min(BATCH, points - at * BATCH) },
      (_, place) => at * BATCH + place,
    );
    return upsertsOf(url, 'c', ids.map(pointOf), BATCH)[0];
  });
  while ((await call('GET', '/collections/c')).status !== 'green') await sleep(POLL_MS);
}

/** A point as JSON: of the set, or beside one of the set. */
function pointOf(id) {
  const row = id % set.rows;
  const payload = JSON.stringify(set.payloads?.[row] ?? { row });
  if (id < set.rows) return `{"id":${id},"vector":${set.baseJson(row)},"payload":${payload}}`;
  const base = set.base(row);
  const length = Math.hypot(...base);
  state = id;
  const move = (MOVED * length * Math.sqrt(3)) / Math.sqrt(base.length);
  const vector = Array.from(base, (value) => Math.fround(value + (2 * random() - 1) * move));
  return `{"id":${id},"vector":${JSON.stringify(vector)},"payload":${payload}}`;
}

let state = 1;

/** Pseudo-random numbers, the same in each run (Park and Miller, CACM 31(10), 1988). */
function random() {
  state = (state * 48_271) % 2_147_483_647;
  return state / 2_147_483_647;
}

async function project(method, seed) {
  const startedAt = performance.now();
  const { ids } = await call('POST', '/collections/c/points/projection', { method, seed, sample: points });
  if (ids.length !== points) throw new Error(`${ids.length} of ${points} points were projected`);
  return rounded((performance.now() - startedAt) / 1000);
}

/** Draws the map by principal components; milliseconds from the last byte of the answer to the drawn points. */
async function draw(page) {
  await page.goto(`${server.url}/console#/collections/c/map`);
  await page.getByLabel('What is near').selectOption('pca');
  await page.evaluate(`(() => {
    const select = [...document.querySelectorAll('select')].find((of) => [...of.options].some(({ value }) => value === '100000'));
    if (![...select.options].some(({ value }) => value === '${points}')) {
      select.options[0].value = '${points}';
    }
    select.value = '${points}';
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
  const done = page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const [answer] = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/points/projection'));
      const canvas = document.querySelector('canvas.map');
      if (!answer || !answer.responseEnd || !canvas) return requestAnimationFrame(look);
      // Two frames later the painter has drawn; reading waits for the graphics.
      requestAnimationFrame(() => requestAnimationFrame(() => {
        const gl = canvas.getContext('webgl2');
        gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
        resolve(performance.now() - answer.responseEnd);
      }));
    };
    look();
  })`);
  await page.getByRole('button', { name: 'Draw the map' }).click();
  const ms = await done;
  await page.locator('canvas.map').scrollIntoViewIfNeeded();
  return rounded(ms);
}

const GESTURES = {
  zoom: async (page, { x, y }) => {
    await page.mouse.move(x, y);
    for (let step = 0; step < STEPS; step += 1) {
      await page.mouse.wheel(0, step < STEPS / 2 ? -60 : 60);
      await sleep(FRAME_MS);
    }
  },
  look: async (page, { x, y, width }) => {
    for (let step = 0; step < STEPS; step += 1) {
      await page.mouse.move(x - width / 4 + (step / STEPS) * (width / 2), y);
      await sleep(FRAME_MS);
    }
  },
  lasso: async (page, { x, y, height }) => {
    await page.mouse.move(x + height / 4, y);
    await page.mouse.down();
    for (let step = 0; step < STEPS; step += 1) {
      const angle = (step / STEPS) * 2 * Math.PI;
      await page.mouse.move(x + Math.cos(angle) * (height / 4), y + Math.sin(angle) * (height / 4));
      await sleep(FRAME_MS);
    }
  },
  release: async (page) => {
    await page.mouse.up();
    await page.getByText(/in the lasso/).waitFor();
  },
};

/** Milliseconds of script in the frames of a gesture. */
async function scriptOf(page, gesture) {
  const { x, y, width, height } = await page.locator('canvas.map').boundingBox();
  await browser.startTracing(page, {
    categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel'],
  });
  await gesture(page, { x: x + width / 2, y: y + height / 2, width, height });
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const mains = traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain',
  );
  // The page of the console is the one that has most of the script.
  const all = mains.map(({ pid, tid }) =>
    framesOf(traceEvents.filter((event) => event.pid === pid && event.tid === tid)),
  );
  const frames = all.sort((a, b) => sum(b) - sum(a))[0] ?? [];
  return { frames: frames.length, median: rounded(median(frames)), most: rounded(Math.max(...frames, 0)) };
}

/** Milliseconds of script by frame, up to what is painted of it; events within others count once. */
function framesOf(events) {
  const begins = events
    .filter(({ name }) => name === 'PrePaint')
    .map(({ ts }) => ts)
    .sort((a, b) => a - b);
  const spans = events
    .filter(({ name, ph, dur }) => ph === 'X' && dur > 0 && SCRIPT.has(name))
    .sort((a, b) => a.ts - b.ts);
  const frames = new Array(begins.length + 1).fill(0);
  let [until, frame] = [0, 0];
  for (const { ts, dur } of spans) {
    if (ts + dur <= until) continue;
    while (frame < begins.length && begins[frame] <= ts) frame += 1;
    frames[frame] += (ts + dur - Math.max(ts, until)) / 1000;
    until = ts + dur;
  }
  return frames;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function rounded(value) {
  return Number(value.toPrecision(3));
}

function call(method, path, body) {
  return ask(server, method, path, body);
}

await untilInterrupted(run, async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});
