/**
 * What the Points page of the console asks for, over a collection of a thousand points and a large one: the description, a
 * page, and how many points match, without a filter, with one, and with one whose field has an index. No index makes itself
 * (docs/automatic-indexes.md): what a filter without one takes is what the first filters take.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, requestBytes } from '../connection.mjs';
import { sendAll } from '../load.mjs';
import { median } from '../median.mjs';
import { upsertsOf } from '../points.mjs';

const FEW = 1_000;
const BATCH = 1_000;
const CONNECTIONS = 2;
const POLL_MS = 200;
const PAGE = 25;
/** One point in so many matches. */
const GROUPS = 100;
/** So many match a filter that nearly no point matches. */
const RARE = 10;
/** Requests that are not counted, since the first of a process are slower. */
const WARM = 20;

/**
 * Makes both collections: `few`, and `many` with as many points as are wanted.
 *
 * @param {(method: string, path: string, body?: object) => Promise<any>} call
 * @param {URL} url
 */
export async function loadBoth(call, url, most) {
  for (const [name, count] of [
    ['few', FEW],
    ['many', most],
  ]) {
    // Nothing of browsing walks a graph.
    await call('PUT', `/collections/${name}`, {
      vectors: { size: 2, distance: 'Dot' },
      hnsw_config: { m: 0 },
      field_indexes: 'manual',
    });
    await sendAll(url, CONNECTIONS, Math.ceil(count / BATCH), (at) => {
      const ids = Array.from(
        { length: Math.min(BATCH, count - at * BATCH) },
        (_, place) => at * BATCH + place,
      );
      return upsertsOf(
        url,
        name,
        ids.map((id) => pointOf(id, count)),
        BATCH,
      )[0];
    });
    await call('PUT', `/collections/${name}/index?wait=true`, {
      field_name: 'indexed',
      field_schema: 'integer',
    });
    while ((await call('GET', `/collections/${name}`)).status !== 'green') await sleep(POLL_MS);
  }
}

function pointOf(id, count) {
  const payload = { title: `Point ${id}`, group: id % GROUPS, indexed: id % GROUPS };
  if (id >= count - RARE) payload.rare = true;
  return JSON.stringify({ id, vector: [id % 7, id % 11], payload });
}

/** The requests by what they are for. */
function requestsOf(count) {
  const where = (key, value) => ({ must: [{ key, match: { value } }] });
  const page = (more = {}) => ['POST', '/points/scroll', { limit: PAGE, with_payload: true, ...more }];
  const matches = (filter) => ['POST', '/points/count', filter ? { filter } : {}];
  const filter = where('group', 7);
  const indexed = where('indexed', 7);
  return {
    description: ['GET', '', undefined],
    'first page': page(),
    'page in the middle': page({ offset: count / 2 }),
    count: matches(),
    'filtered page': page({ filter }),
    'filtered count': matches(filter),
    'filtered page with an index': page({ filter: indexed }),
    'filtered count with an index': matches(indexed),
    [`filtered page of ${RARE} points`]: page({ filter: where('rare', true) }),
  };
}

/**
 * Sends each request to both collections in turn.
 *
 * @returns {Promise<Record<string, {few: number, many: number, ratio: number}>>} median milliseconds, by request
 */
export async function browse(url, most, rounds) {
  const connection = await Connection.open(url);
  const took = {};
  const send = async (name, [method, path, body]) => {
    const bytes = requestBytes(url, method, `/collections/${name}${path}`, body ? JSON.stringify(body) : '');
    const startedAt = performance.now();
    const { status } = await connection.send(bytes);
    if (status !== 200) throw new Error(`${method} ${path}: ${status}`);
    return performance.now() - startedAt;
  };
  const collections = { few: FEW, many: most };
  for (let at = 0; at < WARM; at += 1) {
    for (const name of Object.keys(collections)) await send(name, requestsOf(FEW)['first page']);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, count] of Object.entries(collections)) {
      for (const [what, request] of Object.entries(requestsOf(count))) {
        ((took[what] ??= {})[name] ??= []).push(await send(name, request));
      }
    }
  }
  connection.close();
  return Object.fromEntries(
    Object.entries(took).map(([what, { few, many }]) => [
      what,
      {
        few: rounded(median(few)),
        many: rounded(median(many)),
        ratio: rounded(median(many) / median(few)),
      },
    ]),
  );
}

function rounded(value) {
  return Number(value.toPrecision(3));
}
