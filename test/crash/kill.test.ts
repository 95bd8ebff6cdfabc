import { sleep } from '../until';
import { Chain } from './chain';
import { HURRIED, ServerChild } from './server-child';

/** Kills of a normal run; `npm run test:long` has many more. */
const KILLS = Number(process.env['KITHDB_KILLS'] ?? 10);
/** Data directories that are killed side by side. */
const CHAINS = 2;
const TIMEOUT_MS = 60_000 + KILLS * 5_000;

// What a failed test leaves behind would keep Jest from ending.
afterEach(ServerChild.killAll);

/** How far a long run has come. */
function report(progress: string): void {
  if (process.env['KITHDB_KILLS'] !== undefined)
    process.stderr.write(`${new Date().toISOString()} ${progress}\n`);
}

/** Starts a server, loads it and kills it at a random moment. */
async function killOnce(chain: Chain): Promise<void> {
  if (Math.random() < 0.15) {
    // In the middle of a start.
    const early = new ServerChild(chain.dataDir, { launcher: HURRIED });
    await sleep(Math.random() * 400);
    early.signal('SIGKILL');
    await early.exit;
    return;
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
  await Promise.all([server.exit, load]);
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
    const work = async (chain: Chain): Promise<void> => {
      while (left > 0) {
        left -= 1;
        if (left % 500 === 0) report(`${KILLS - left} kills, ${chain.acknowledged} writes acknowledged`);
        await killOnce(chain);
      }
      const server = new ServerChild(chain.dataDir, { launcher: HURRIED });
      const url = await server.ready;
      await chain.create(url);
      await chain.verify(url);
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
      expect(chain.acknowledged).toBeGreaterThan(0);
    };
    await Promise.all(Array.from({ length: CHAINS }, () => withChain(work)));
  },
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
