import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Changes, KINDS, type Kind } from './changes';
import { HURRIED, ServerChild } from './server-child';

/** Kills amid each kind of change; `npm run test:long -- kills` has more. */
const KILLS_OF_A_KIND = Math.ceil(Number(process.env['KITHDB_KILLS'] ?? 1) / KINDS.length);
/** A kill comes at most so long after its request was sent, at the first attempt. */
const LONGEST_DELAY_MS = 4;
/**
 * Where the answer came before the kill, the next attempt's delay is this part of the last one: a fast disk answers
 * within a millisecond.
 */
const SHORTENED = 0.85;
/** Others before it, at most. */
const CHANGES_BEFORE = 4;
/** Kills after the answer, which do not count, in a row. */
const ATTEMPTS = 30;
/** What only clones and recoveries reach: before the folder of one is filled, and after its record is in the log. */
const POINTS_OF_COPIES = ['create UNFINISHED', 'remove UNFINISHED'];
/** Kinds that reach them, and the folders of collections that there are then. */
const COPIES: readonly (readonly [kind: Kind, folders: number])[] = [
  ['a clone', 2],
  ['a recovery over a collection that is there', 3],
];
const TIMEOUT_MS = 240_000 + KILLS_OF_A_KIND * 60_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-kill-changes-'));
});
afterEach(async () => {
  await ServerChild.killAll();
  rmSync(folder, { recursive: true });
});

/** Aliases are of this dialect. */
function start(env: NodeJS.ProcessEnv = {}): ServerChild {
  return new ServerChild(join(folder, 'data'), {
    launcher: HURRIED,
    env: { KITHDB_DIALECT: 'qdrant', ...env },
  });
}

async function killed(server: ServerChild): Promise<void> {
  server.signal('SIGKILL');
  expect(await server.exit).toEqual({ code: null, signal: 'SIGKILL' });
}

/** Makes the folder with a collection in which there is something. */
async function begin(changes: Changes): Promise<void> {
  const server = start();
  const url = await server.ready;
  await changes.create(url);
  for (const kind of ['a write', 'a batch of aliases'] as const) await changes.make(url, kind);
  await killed(server);
}

/** Waits without a timer, which has whole milliseconds. */
async function pause(ms: number): Promise<void> {
  const end = performance.now() + ms;
  do await new Promise((resolve) => setImmediate(resolve));
  while (performance.now() < end);
}

/**
 * Kills a server at most `longestMs` after a request of the kind was sent; whether that was amid the request: it was not
 * answered.
 */
async function killAmid(changes: Changes, kind: Kind, longestMs: number): Promise<boolean> {
  const server = start();
  const url = await server.ready;
  await changes.verify(url);
  for (let left = Math.floor(Math.random() * (CHANGES_BEFORE + 1)); left > 0; left -= 1) {
    await changes.make(url, KINDS[Math.floor(Math.random() * KINDS.length)]!);
  }
  const sent = changes.send(url, await changes.next(url, kind));
  await pause(Math.random() * longestMs);
  await killed(server);
  return !(await sent);
}

async function verifyAfter(changes: Changes): Promise<void> {
  const server = start();
  await changes.verify(await server.ready);
  server.signal('SIGTERM');
  expect(await server.exit).toEqual({ code: 0, signal: null });
}

test(
  'C11.3, C26, C4.8, C17, C25, C12, C20 kills amid clones, vector names, expiry, versions, aliases, recoveries and syncs lose nothing and leave nothing half done',
  async () => {
    const changes = new Changes();
    await begin(changes);
    for (let round = 0; round < KILLS_OF_A_KIND; round += 1) {
      for (const kind of KINDS) {
        let isMet = false;
        for (let attempt = 0; attempt < ATTEMPTS && !isMet; attempt += 1)
          isMet = await killAmid(changes, kind, LONGEST_DELAY_MS * SHORTENED ** attempt);
        // It was killed before its answer, and not after all of its attempts.
        expect([kind, isMet]).toEqual([kind, true]);
      }
    }
    await verifyAfter(changes);
  },
  TIMEOUT_MS,
);

test.each(POINTS_OF_COPIES.flatMap((point) => COPIES.map(([kind, there]) => [kind, point, there] as const)))(
  'C26, C12 %s that is killed at "%s" is there as a whole or not at all, and no folder is left of it',
  async (kind, point, there) => {
    const changes = new Changes();
    await begin(changes);
    const before = start();
    const change = await changes.next(await before.ready, kind);
    await killed(before);
    const server = start({ CRASH_POINT: `${point}:1` });
    const url = await server.ready;
    await changes.verify(url);
    expect(await changes.send(url, change)).toBe(false);
    expect(await server.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(server.output).toContain(`at the crash point ${point}:1`);
    const folders = (): string[] =>
      readdirSync(join(folder, 'data', 'collections')).filter((name) => /^[0-9a-f]{16}$/.test(name));
    expect(folders()).toHaveLength(there);
    await verifyAfter(changes);
    // What was replaced is removed at the next start where the server stopped before it was.
    if (there > 2) await verifyAfter(changes);
    // The source, and what was sent again; none of the one before.
    expect(folders()).toHaveLength(2);
  },
  TIMEOUT_MS,
);
