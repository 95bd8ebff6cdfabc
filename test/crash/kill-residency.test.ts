import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../until';
import { call, ok } from './requests';
import { HURRIED, ServerChild } from './server-child';

/** Kills of a normal run; `npm run test:long -- kills` has more. */
const KILLS = Math.max(6, Math.ceil(Number(process.env['KITHDB_KILLS'] ?? 6) / 4));
const NAMES = ['a', 'b', 'c'] as const;
/** Where every second kill is, in turn. */
const POINTS = ['falling asleep', 'waking a collection'];
const TIMEOUT_MS = 60_000 + KILLS * 10_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-kill-residency-'));
});
afterEach(async () => {
  await ServerChild.killAll();
  rmSync(folder, { recursive: true });
});

/** A server whose collections sleep after 10 ms: of a second, as it is hurried. */
function start(env: NodeJS.ProcessEnv = {}): ServerChild {
  return new ServerChild(join(folder, 'data'), {
    launcher: HURRIED,
    env: { KITHDB_RESIDENCY_IDLE_SECONDS: '1', ...env },
  });
}

/** Points that were acknowledged, and writes that were not, by collection. */
class Written {
  readonly sure = new Map<string, Set<number>>(NAMES.map((name) => [name, new Set()]));
  /** A server that is killed leaves one, and not each of them is followed by a look at what is there. */
  readonly doubtful = new Map<string, (readonly number[])[]>(NAMES.map((name) => [name, []]));
  #last = 0;

  /** Writes to one collection after the other until the server is gone; each sleeps meanwhile. */
  async load(url: string): Promise<void> {
    for (;;) {
      for (const name of NAMES) {
        const ids = Array.from({ length: 3 }, () => (this.#last += 1));
        this.doubtful.get(name)!.push(ids);
        const points = ids.map((id) => ({ id, vector: [id % 7, 1], payload: { id } }));
        const answer = await call(url, 'PUT', `/collections/${name}/points`, { points }).catch(
          () => undefined,
        );
        if (answer === undefined) return;
        expect([answer.status, answer.error]).toEqual([200, undefined]);
        for (const id of ids) this.sure.get(name)!.add(id);
        this.doubtful.get(name)!.pop();
        await sleep(Math.random() * 25);
      }
    }
  }

  /** Every acknowledged point is there, and of others those of whole writes. */
  async verify(url: string): Promise<void> {
    for (const name of NAMES) {
      const { points } = (await ok(url, 'POST', `/collections/${name}/points/scroll`, { limit: 10_000 })) as {
        points: readonly { id: number; payload: { id: number } }[];
      };
      const found = new Set(points.map(({ id }) => id));
      for (const { id, payload } of points) expect(payload.id).toBe(id);
      for (const doubtful of this.doubtful.get(name)!.splice(0)) {
        const arrived = doubtful.filter((id) => found.has(id));
        expect([0, doubtful.length]).toContain(arrived.length);
        for (const id of arrived) this.sure.get(name)!.add(id);
      }
      expect([name, [...found].sort((a, b) => a - b)]).toEqual([
        name,
        [...this.sure.get(name)!].sort((a, b) => a - b),
      ]);
    }
  }
}

test(
  `C24, C11.3 ${KILLS} kills while collections fall asleep and wake lose nothing`,
  async () => {
    const written = new Written();
    const first = start();
    const url = await first.ready;
    for (const name of NAMES)
      await ok(url, 'PUT', `/collections/${name}`, { vectors: { size: 2, distance: 'Dot' } });
    first.signal('SIGTERM');
    await first.exit;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const point = kill % 2 === 0 ? `${POINTS[(kill / 2) % POINTS.length]!}:${2 + (kill % 5)}` : undefined;
      const server = start(point === undefined ? {} : { CRASH_POINT: point });
      const ready = await server.ready.catch(() => undefined);
      if (ready !== undefined) {
        if (point === undefined) await written.verify(ready);
        const load = written.load(ready);
        if (point === undefined) {
          await sleep(50 + Math.random() * 300);
          server.signal('SIGKILL');
        }
        await load;
      }
      expect(await server.exit).toEqual({ code: null, signal: 'SIGKILL' });
    }
    const last = start();
    await written.verify(await last.ready);
  },
  TIMEOUT_MS,
);
