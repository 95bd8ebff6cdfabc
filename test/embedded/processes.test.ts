import { createServer, connect, type Socket } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { ServerChild } from '../crash/server-child';
import { send } from '../http/harness';
import { sleep, until } from '../until';
import { Member, type MemberError } from './member';

/** Kills of the owner; `npm run test:long` has more, further apart. */
const KILLS = Number(process.env['KITHDB_OWNER_KILLS'] ?? 4);
const KILL_EVERY_MS = Number(process.env['KITHDB_OWNER_KILL_EVERY_MS'] ?? 600);
const PROCESSES = Number(process.env['KITHDB_OWNER_PROCESSES'] ?? 3);
/** Points that are there before the first kill. */
const POINTS = Number(process.env['KITHDB_OWNER_POINTS'] ?? 0);
/** Time that a point may be between two of a writer, where the run is long. */
const PAUSE_MS = Number(process.env['KITHDB_OWNER_PAUSE_MS'] ?? 0);
/** Whether this is the run of the suite `owner-kills`. */
const IS_LONG = process.env['KITHDB_OWNER_KILLS'] !== undefined;
/** The ids of each process begin here, multiplied by its number. */
const IDS = 10_000_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-embedded-'));
});
afterEach(async () => {
  await Member.killAll();
  await ServerChild.killAll();
  rmSync(folder, { recursive: true, force: true });
});

const CONFIG = { vectors: { size: 2, distance: 'Dot' } };

function create(member: Member): Promise<unknown> {
  return member.execute('create_collection', 'c', CONFIG);
}

async function ownerOf(members: readonly Member[]): Promise<Member> {
  let found: Member | undefined;
  await until(async () => {
    const roles = await Promise.all(members.map((member) => member.role()));
    found = members[roles.indexOf('owner')];
    return found !== undefined;
  });
  return found!;
}

test('C18 the first process owns the folder, and the others have the same answers and the same errors', async () => {
  const owner = await Member.open(folder);
  const other = await Member.open(folder);
  expect([await owner.role(), await other.role()]).toEqual(['owner', `attached to process ${owner.pid}`]);
  expect(await create(other)).toBe(true);
  await other.execute('upsert_points', 'c', { points: [{ id: 1, vector: [1, 2], payload: { a: 'ä' } }] });
  for (const request of [
    ['query', { query: [1, 0], with_payload: true, with_vector: true }],
    ['scroll', { limit: 10 }],
    ['count', {}],
  ] as const) {
    expect(await other.execute(request[0], 'c', request[1])).toEqual(
      await owner.execute(request[0], 'c', request[1]),
    );
  }
  for (const [operation, collection, body] of [
    ['create_collection', 'c', CONFIG],
    ['count', 'none', {}],
    ['query', 'c', { query: [1] }],
    ['set_payload', 'c', { payload: {}, points: [77] }],
    ['upsert_points', 'c', { points: [{ id: 'x', vector: [1, 2] }] }],
  ] as const) {
    const errors = await Promise.all(
      [owner, other].map((member) =>
        member.execute(operation, collection, body).then(
          () => undefined,
          (error: unknown) => {
            const { name, status, message } = error as MemberError;
            return { name, status, message };
          },
        ),
      ),
    );
    expect(errors[0]).toBeDefined();
    expect(errors[1]).toEqual(errors[0]);
  }
  // Nothing of the owner's event loop is needed: it runs again after the answer only.
  const [begun, released] = [join(folder, 'begun'), join(folder, 'released')];
  const blocked = owner.block(begun, released);
  await until(() => existsSync(begun));
  expect(await other.execute('count', 'c', {})).toEqual({ count: 1 });
  writeFileSync(released, '');
  expect(await blocked).toBe('released');
});

test('C18 the socket has mode 0600, and a stale one is replaced', async () => {
  const owner = await Member.open(folder);
  const socket = join(folder, 'attach.sock');
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'attach')).mode & 0o777).toBe(0o600);
  expect(existsSync(join(folder, 'attach.new'))).toBe(false);
  owner.kill();
  await owner.gone;
  expect(existsSync(socket)).toBe(true);
  const next = await Member.open(folder);
  expect(await next.role()).toBe('owner');
  await next.close();
  expect([existsSync(socket), existsSync(join(folder, 'attach'))]).toEqual([false, false]);
});

test('C18 a folder whose path is too long for a socket has it elsewhere', async () => {
  const deep = join(folder, 'x'.repeat(60), 'y'.repeat(60));
  mkdirSync(deep, { recursive: true });
  const owner = await Member.open(deep);
  const other = await Member.open(deep);
  expect(await other.role()).toBe(`attached to process ${owner.pid}`);
  const socket = readFileSync(join(deep, 'attach'), 'utf8').split('\n')[2] ?? '';
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  await other.close();
  await owner.close();
  expect(existsSync(socket)).toBe(false);
});

test(
  `C18 ${KILLS} kills of the owner lose nothing that was acknowledged, and apply nothing twice`,
  async () => {
    const members = await Promise.all(Array.from({ length: PROCESSES }, () => Member.open(folder)));
    await create(members[0]!);
    for (let first = 0; first < POINTS; first += 10_000) {
      const points = Array.from({ length: Math.min(10_000, POINTS - first) }, (_, at) => ({
        id: 5 * IDS + first + at,
        vector: [at, 1],
      }));
      await members[0]!.execute('upsert_points', 'c', { points });
    }
    const before = await members[0]!.execute('count', 'c', {});
    expect(before).toEqual({ count: POINTS });
    let number = 5;
    const begin = async (member: Member): Promise<void> => {
      number += 1;
      await member.write('c', number * IDS, PAUSE_MS);
    };
    await Promise.all(members.map(begin));
    const all = [...members];
    for (let kill = 0; kill < KILLS; kill += 1) {
      await sleep(KILL_EVERY_MS);
      const owner = await ownerOf(members);
      owner.kill();
      await owner.gone;
      const next = Member.start(folder);
      members.splice(members.indexOf(owner), 1, next);
      all.push(next);
      await next.opened;
      await begin(next);
    }
    const written = await Promise.all(members.map((member) => member.stop()));
    for (const { failures } of written) expect(failures).toEqual([]);
    const slowest = Math.max(...written.map(({ slowestMs }) => slowestMs));
    if (IS_LONG) {
      // The suite `owner-kills` reads and keeps it.
      process.stderr.write(`slowest call of a surviving process: ${slowest.toFixed(0)} ms\n`);
    }
    // Every acknowledged point is there, and each is one operation: the next one's number counts them all.
    const { points } = (await members[0]!.execute('scroll', 'c', {
      limit: 100_000,
      with_payload: false,
    })) as { points: { id: number }[] };
    const found = new Set(points.map(({ id }) => id));
    const acknowledged = all.flatMap((member) => member.acknowledged);
    expect(acknowledged.filter((id) => !found.has(id))).toEqual([]);
    const { operation_id } = (await members[0]!.execute('delete_points', 'c', { points: [0] })) as {
      operation_id: number;
    };
    const operations = operation_id - 1 - Math.ceil(POINTS / 10_000);
    expect(operations).toBe(found.size - POINTS);
    // Of each process that was killed at most one call was not answered.
    expect(found.size - POINTS - acknowledged.length).toBeLessThanOrEqual(KILLS);
    expect(acknowledged.length).toBeGreaterThan(0);
  },
  60_000 + KILLS * (KILL_EVERY_MS + 15_000),
);

test('C18 an owner that closes leaves the folder to another', async () => {
  const [owner, other] = [await Member.open(folder), await Member.open(folder)];
  await create(other);
  await other.write('c', 1);
  await until(() => other.acknowledged.length > 10);
  await owner.close();
  const seen = other.acknowledged.length;
  await until(() => other.acknowledged.length > seen + 10);
  expect(await other.role()).toBe('owner');
  const { failures, acknowledged } = await other.stop();
  expect(failures).toEqual([]);
  expect(await other.execute('count', 'c', {})).toEqual({ count: acknowledged });
});

test('C18 a server that starts gets the folder handed over, and a second one ends and names it', async () => {
  const [owner, other] = [await Member.open(folder), await Member.open(folder)];
  await create(owner);
  await owner.write('c', 1);
  await other.write('c', IDS);
  await until(() => owner.acknowledged.length > 10 && other.acknowledged.length > 10);
  const server = new ServerChild(folder);
  const url = new URL(await server.ready);
  const seen = [owner, other].map((member) => member.acknowledged.length);
  await until(() => [owner, other].every((member, at) => member.acknowledged.length > (seen[at] ?? 0) + 10));
  const roles = await Promise.all([owner.role(), other.role()]);
  expect(new Set(roles)).toEqual(
    new Set([expect.stringMatching(/^attached to the server with the process id/)]),
  );
  const written = await Promise.all([owner.stop(), other.stop()]);
  expect(written.flatMap(({ failures }) => failures)).toEqual([]);
  const [of, and] = written.map(({ acknowledged }) => acknowledged);
  const count = await send({ port: Number(url.port) }, 'POST', '/collections/c/points/count', { json: {} });
  expect(count.body.result).toEqual({ count: (of ?? 0) + (and ?? 0) });

  for (const [env, named] of [
    [{}, /another KithDB process runs on this data directory \(process \d+\)/],
    [{ KITHDB_TOKEN_STORE: 'memory' }, /in use: the server with the process id \d+ serves it/],
  ] as const) {
    const second = new ServerChild(folder, { env });
    expect((await second.exit).code).not.toBe(0);
    expect(second.output).toMatch(named);
  }
  server.signal('SIGTERM');
  await server.exit;
  expect(await owner.execute('count', 'c', {})).toEqual(count.body.result);
});

test('C18 exclusive fails where there is another process, and keeps others out', async () => {
  const owner = await Member.open(folder);
  await expect(Member.open(folder, { exclusive: true })).rejects.toThrow(`in use by process ${owner.pid}`);
  await owner.close();
  const alone = await Member.open(folder, { exclusive: true });
  for (const options of [{}, { exclusive: true }, { readOnly: true }]) {
    await expect(Member.open(folder, options)).rejects.toThrow(`in use by process ${alone.pid}`);
  }
  await create(alone);
  await alone.close();
  const next = await Member.open(folder);
  expect(await next.execute('count', 'c', {})).toEqual({ count: 0 });
});

test('C18 readOnly waits for an owner, is never one, and writes nothing', async () => {
  await expect(Member.open(folder, { readOnly: true, timeoutMs: 300 })).rejects.toThrow(
    'no process has opened the folder within 0.3 s',
  );
  const waiting = Member.start(folder, { readOnly: true });
  const owner = await Member.open(folder);
  await waiting.opened;
  await create(owner);
  await expect(create(waiting)).rejects.toThrow('open for reading only');
  expect(await waiting.execute('count', 'c', {})).toEqual({ count: 0 });
  owner.kill();
  await owner.gone;
  const count = waiting.execute('count', 'c', {});
  await sleep(200);
  expect(await waiting.role()).toBe('waiting for an owner');
  const next = await Member.open(folder);
  expect(await count).toEqual({ count: 0 });
  expect(await next.role()).toBe('owner');
});

/** Bytes of a hello of some version. */
function hello(version: number): Buffer {
  const frame = Buffer.alloc(22);
  frame.writeUInt32LE(18, 0);
  frame.writeUInt8(1, 4);
  frame.write('KITHATT\0', 5, 'latin1');
  frame.writeUInt32LE(version, 13);
  frame.writeUInt32LE(process.pid, 17);
  return frame;
}

test('C18 another version of the protocol is an error that names both', async () => {
  // An owner of another version: it holds the lock of nothing, but says that it is there.
  const socket = join(folder, 'attach.sock');
  const server = createServer((connection: Socket) => {
    const welcome = Buffer.concat([hello(9), Buffer.alloc(8)]);
    welcome.writeUInt32LE(26, 0);
    welcome.writeUInt8(11, 4);
    connection.end(welcome);
  });
  server.listen(socket);
  await once(server, 'listening');
  writeFileSync(join(folder, 'attach'), `kithdb attach 1\n${process.pid}\nattach.sock\n`);
  await expect(Member.open(folder)).rejects.toThrow(/version 9 .* and this one version 8/);
  server.close();
});

test('C18 what is no protocol ends its connection and nothing else', async () => {
  const owner = await Member.open(folder);
  const other = await Member.open(folder);
  await create(owner);
  await other.write('c', 1);
  const frames = [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.alloc(4),
    Buffer.from([255, 255, 255, 255, 1]),
    hello(1).subarray(0, 9),
    Buffer.concat([hello(1), Buffer.from([9, 0, 0, 0, 2, 1, 2, 3])]),
    Buffer.concat([hello(1), Buffer.from([1, 0, 0, 0, 99])]),
    Buffer.concat([hello(1), Buffer.from([0, 0, 0, 16, 2])]),
    ...Array.from({ length: 100 }, (_, seed) =>
      Buffer.concat([
        hello(1),
        Buffer.from(Array.from({ length: 200 }, (_, at) => (seed * 31 + at * at * 7) % 256)),
      ]),
    ),
  ];
  const sockets = frames.map((bytes) => {
    const socket = connect(join(folder, 'attach.sock'));
    socket.on('error', () => undefined);
    socket.write(bytes);
    return socket;
  });
  await sleep(300);
  // One that never reads, and asks for much.
  const seen = other.acknowledged.length;
  await until(() => other.acknowledged.length > seen + 20);
  sockets.forEach((socket) => socket.destroy());
  const { failures, acknowledged } = await other.stop();
  expect(failures).toEqual([]);
  expect(await owner.execute('count', 'c', {})).toEqual({ count: acknowledged });
});
