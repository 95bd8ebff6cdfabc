import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, until } from '../until';
import { Chain, NoAnswer } from './chain';
import { type Exit, HURRIED, NotReady, ServerChild } from './server-child';

/** Kills of a normal run; `npm run test:long` has many more. */
const KILLS = Number(process.env['KITHDB_KILLS'] ?? 10);
/** What a server does in the background when it is killed. */
type Work = 'a checkpoint' | 'a vacuum' | 'a build' | 'a cut of the log' | 'a change of the catalog';
/** Every second kill is at one of these points in turn: see crates/engine/src/storage/crash_points.rs. */
const POINTS: readonly (readonly [point: string, during: Work])[] = [
  // Its data is synced, its manifest does not exist yet.
  ['create MANIFEST.new', 'a checkpoint'],
  ['moving rows', 'a vacuum'],
  ['taking in a tail', 'a build'],
  // After the rename, before the directory is synced.
  ['renamed MANIFEST', 'a checkpoint'],
  ['cutting the log', 'a cut of the log'],
  ['create .data', 'a checkpoint'],
  ['dropping rows', 'a vacuum'],
  ['rewriting a graph', 'a build'],
  ['rename MANIFEST', 'a checkpoint'],
  ['moving payloads', 'a checkpoint'],
  ['rename CATALOG', 'a change of the catalog'],
  ['renamed CATALOG', 'a change of the catalog'],
  ['renamed cut', 'a cut of the log'],
  ['remove .log', 'a cut of the log'],
  ['remove .data', 'a checkpoint'],
];
/** What kills of every run, however short, have met. */
const ALWAYS_MET: readonly Work[] = ['a checkpoint', 'a vacuum', 'a build'];
/** Data directories that are killed side by side. */
const CHAINS = 2;
const TIMEOUT_MS = 60_000 + KILLS * 5_000;

// A server that a failed test leaves would keep Jest from ending.
afterEach(ServerChild.killAll);

/** How far a long run has come. */
function report(progress: string): void {
  if (process.env['KITHDB_KILLS'] !== undefined)
    process.stderr.write(`${new Date().toISOString()} ${progress}\n`);
}

/** Starts a server that kills itself at a point, and loads it until it is there. */
async function killAtPoint(chain: Chain, point: string): Promise<void> {
  const env = { CRASH_POINT: `${point}:${1 + Math.floor(Math.random() * 3)}` };
  const server = new ServerChild(chain.dataDir, { launcher: HURRIED, env });
  try {
    const url = await server.ready;
    await chain.create(url);
    await chain.verify(url);
    await chain.load(url);
  } catch (error) {
    // The point may come before the server is ready, and during what is verified.
    if (!(error instanceof NoAnswer || error instanceof NotReady)) throw error;
  }
  expect([env.CRASH_POINT, await server.exit, server.output]).toEqual([
    env.CRASH_POINT,
    { code: null, signal: 'SIGKILL' },
    expect.stringContaining(`at the crash point ${env.CRASH_POINT}`),
  ]);
}

/** Starts a server, loads it and kills it at a random moment; whether it still ran then. */
async function killAtRandom(chain: Chain): Promise<boolean> {
  if (Math.random() < 0.15) {
    // In the middle of a start.
    const early = new ServerChild(chain.dataDir, { launcher: HURRIED });
    await sleep(Math.random() * 400);
    early.signal('SIGKILL');
    return wasKilled(await early.exit);
  }
  const server = new ServerChild(chain.dataDir, { launcher: HURRIED });
  const url = await server.ready;
  await chain.create(url);
  await chain.verify(url);
  const load = chain.load(url);
  await sleep(5 + Math.random() * 200);
  if (Math.random() < 0.3) {
    // In the middle of a clean stop, which writes checkpoints.
    server.signal('SIGTERM');
    await sleep(Math.random() * 60);
  }
  server.signal('SIGKILL');
  const [exit] = await Promise.all([server.exit, load]);
  return wasKilled(exit);
}

function wasKilled({ code, signal }: Exit): boolean {
  // A clean stop may have come to its end before the kill.
  expect([null, 0]).toContain(code);
  return signal === 'SIGKILL';
}

async function withChain(work: (chain: Chain) => Promise<void>): Promise<void> {
  const chain = new Chain();
  try {
    await work(chain);
  } finally {
    chain.remove();
  }
}

test(
  `C11.3 ${KILLS} kills under a mixed write load lose nothing that was acknowledged`,
  async () => {
    let left = KILLS;
    const met = new Map<Work, number>();
    const work = async (chain: Chain): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const number = KILLS - left;
        if (number % 500 === 0) report(`${number} kills, ${chain.acknowledged} writes acknowledged`);
        if (number % 2 === 0) {
          const [point, during] = POINTS[(number / 2) % POINTS.length]!;
          await killAtPoint(chain, point);
          met.set(during, (met.get(during) ?? 0) + 1);
        } else while (!(await killAtRandom(chain)));
      }
      const server = new ServerChild(chain.dataDir, { launcher: HURRIED });
      const url = await server.ready;
      await chain.create(url);
      await chain.verify(url);
      await chain.verifyWalks(url);
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
      expect(chain.acknowledged).toBeGreaterThan(0);
    };
    await Promise.all(Array.from({ length: CHAINS }, () => withChain(work)));
    report(`met ${[...met].map(([during, times]) => `${during} ${times} times`).join(', ')}`);
    expect([...met.keys()]).toEqual(expect.arrayContaining([...ALWAYS_MET]));
  },
  TIMEOUT_MS,
);

test(
  'a server of these tests is hurried: it has made checkpoints and cut the log before it has much to do',
  () =>
    withChain(async (chain) => {
      const server = new ServerChild(chain.dataDir, { launcher: HURRIED });
      const url = await server.ready;
      await chain.create(url);
      const load = chain.load(url);
      // Written before the first segment of the log is removed.
      const mark = join(chain.dataDir, 'log', 'cut');
      // A hurried server does so within some hundred writes, another one not within some hundred thousand.
      await until(() => existsSync(mark) || chain.acknowledged > 4_000);
      expect(existsSync(mark)).toBe(true);
      server.signal('SIGKILL');
      await Promise.all([server.exit, load]);
    }),
  TIMEOUT_MS,
);

test(
  'C11.3 SIGTERM under load finishes what runs, loses nothing and exits with 0',
  () =>
    withChain(async (chain) => {
      for (let round = 0; round < 3; round += 1) {
        const server = new ServerChild(chain.dataDir);
        const url = await server.ready;
        await chain.create(url);
        await chain.verify(url);
        const load = chain.load(url);
        await sleep(200);
        server.signal('SIGTERM');
        expect(await server.exit).toEqual({ code: 0, signal: null });
        await load;
      }
      const server = new ServerChild(chain.dataDir);
      await chain.verify(await server.ready);
      server.signal('SIGKILL');
      await server.exit;
    }),
  TIMEOUT_MS,
);

test(
  'C11.3 a second signal exits at once and loses nothing',
  () =>
    withChain(async (chain) => {
      for (const signals of [
        ['SIGTERM', 'SIGTERM'],
        ['SIGINT', 'SIGTERM'],
      ] as const) {
        const server = new ServerChild(chain.dataDir);
        const url = await server.ready;
        await chain.create(url);
        await chain.verify(url);
        // A request whose body never ends would hold the stop up for its full grace period.
        const held = fetch(`${url}/collections/even/points`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: new ReadableStream({
            start: (body): void => {
              body.enqueue(new TextEncoder().encode('{"points": ['));
            },
          }),
          duplex: 'half',
        }).catch(() => undefined);
        const load = chain.load(url);
        await sleep(150);
        server.signal(signals[0]);
        // Well past the moment in which an identical signal counts as the same one, and again where the server was
        // late for the first.
        const again = setInterval(() => {
          server.signal(signals[1]);
        }, 400);
        expect(await server.exit).toEqual({ code: 1, signal: null });
        clearInterval(again);
        await Promise.all([load, held]);
      }
      const server = new ServerChild(chain.dataDir);
      await chain.verify(await server.ready);
      server.signal('SIGKILL');
      await server.exit;
    }),
  TIMEOUT_MS,
);
