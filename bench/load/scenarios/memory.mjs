/** Attack 4: upserts into a server whose memory is limited. */
import { ask } from '../calls.mjs';
import { Connection, requestBytes } from '../../connection.mjs';
import { peakResidentMb } from '../session.mjs';
import { atMost, holds, shown } from '../verdict.mjs';

const COLLECTION = 'bench_load_memory';
/** Points in an upsert, and different vectors: made once, so that the client does not limit the rate. */
const BATCH = 16;
const VECTORS = 256;

/** A refused client waits, and one whose connection was lost waits longer. */
const REFUSED_PAUSE_MS = 100;
const LOST_PAUSE_MS = 500;

/** Answers that a server out of memory may give. */
const EXPECTED = new Set([200, 429, 507]);

const PAGE = 10_000;

/** @type {import('../session.mjs').Scenario} */
export const memory = {
  about:
    'upserts of long vectors into a server with little memory, then a start without the limit that must have them all',
  needsTree: true,
  parts: ({ memoryMb }) =>
    memoryMb.map((limit) => ({
      name: `${limit} MiB`,
      start: { isEmpty: true, memoryMb: limit },
      run: (session) => upsertForAWhile(session),
    })),
};

async function upsertForAWhile(session) {
  const { server, scale, memorySeconds } = session;
  await ask(server, 'PUT', `/collections/${COLLECTION}`, {
    vectors: { size: scale.memoryDims, distance: 'Dot' },
  });
  const client = new Upserts(server, scale.memoryDims, performance.now() + memorySeconds * 1000);
  await Promise.all(Array.from({ length: scale.memoryConnections }, () => client.run()));
  const isAlive = await answers(server);
  const groupBytes = server.peakMemoryBytes();
  const residentMb = peakResidentMb(server.pid);
  await server.stop();
  const { lost, unasked } = await compare(server, client);
  const unexpected = [...client.statuses].filter(([status]) => !EXPECTED.has(status));
  const figures = [
    holds('alive at the end', isAlive),
    atMost('acknowledged points that are lost', lost, '', { must: 0, aim: 0 }),
    atMost('refused points that are there', unasked, '', { must: 0, aim: 0 }),
    atMost('answers that are none of 200, 429, 507', sum(unexpected), '', { must: 0, aim: 0 }),
    shown('acknowledged points', client.acknowledged.length * BATCH),
    shown('limited by', server.limitedBy),
    shown('resident memory at most', residentMb, 'MiB'),
    shown('memory of the control group at most', groupBytes === null ? null : groupBytes / 2 ** 20, 'MiB'),
  ];
  const counts = [...client.statuses].map(([status, count]) => `${status || 'no answer'} × ${count}`);
  return { figures, note: counts.join(', ') };
}

/** Upserts of ever new points, and what became of each. */
class Upserts {
  #url;
  #token;
  #vectors;
  #endsAt;
  #next = 0;
  /** First ids. */
  acknowledged = [];
  refused = [];
  /** How often each status came; 0 is a connection that was lost. */
  statuses = new Map();

  constructor({ url, token }, dims, endsAt) {
    this.#url = new URL(url);
    this.#token = token;
    this.#endsAt = endsAt;
    const component = () => (Math.random() - 0.5).toFixed(6);
    this.#vectors = Array.from(
      { length: VECTORS },
      () => `[${Array.from({ length: dims }, component).join(',')}]`,
    );
  }

  /** One connection until the end. */
  async run() {
    let connection = null;
    while (performance.now() < this.#endsAt) {
      const first = this.#next;
      this.#next += BATCH;
      let status = 0;
      try {
        connection ??= await Connection.open(this.#url);
        ({ status } = await connection.send(this.#upsert(first)));
      } catch {
        connection?.close();
        connection = null;
      }
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (status === 200) this.acknowledged.push(first);
      else if (status > 0) this.refused.push(first);
      if (status !== 200) await pause(status > 0 ? REFUSED_PAUSE_MS : LOST_PAUSE_MS);
    }
    connection?.close();
  }

  #upsert(first) {
    const point = (at) => `{"id":${first + at},"vector":${this.#vectors[(first + at) % VECTORS]}}`;
    const points = Array.from({ length: BATCH }, (_, at) => point(at));
    const path = `/collections/${COLLECTION}/points?wait=true`;
    return requestBytes(this.#url, 'PUT', path, `{"points":[${points.join(',')}]}`, this.#token);
  }
}

async function answers(server) {
  try {
    await ask(server, 'GET', `/collections/${COLLECTION}`);
    return true;
  } catch {
    return false;
  }
}

/** Points of a start without the limit beside what the client was told. */
async function compare(server, client) {
  const again = await server.restart();
  try {
    const stored = await storedIds(again);
    const count = (firsts, isStored) => {
      let found = 0;
      for (const first of firsts) {
        for (let id = first; id < first + BATCH; id++) if (stored.has(id) === isStored) found++;
      }
      return found;
    };
    return { lost: count(client.acknowledged, false), unasked: count(client.refused, true) };
  } finally {
    await again.kill();
  }
}

async function storedIds(server) {
  const ids = new Set();
  let offset = 0;
  while (offset !== null) {
    const page = await ask(server, 'POST', `/collections/${COLLECTION}/points/scroll`, {
      limit: PAGE,
      offset,
      with_payload: false,
    });
    for (const { id } of page.points) ids.add(id);
    offset = page.next_page_offset;
  }
  return ids;
}

function sum(entries) {
  return entries.reduce((total, [, count]) => total + count, 0);
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
