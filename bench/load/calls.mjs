/** Requests outside of any measurement: to prepare a server and to look at it. */
import { requestBytes } from '../connection.mjs';
import { sendAll } from '../load.mjs';

/** Longer than anything that is asked of a server that is not attacked. */
const TIMEOUT_MS = 120_000;

/** Points in an upsert of {@link upsertRows} unless it is told, and connections on which it sends. */
const BATCH = 256;
const CONNECTIONS = 4;

/**
 * Sends one request and answers its body.
 *
 * @param {{url: string, token?: string}} server
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
export async function call({ url, token }, method, path, body) {
  const response = await fetch(new URL(path, url), {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

/** The `result` of {@link call}. */
export async function ask(server, method, path, body) {
  return (await call(server, method, path, body)).result;
}

/**
 * Sends many requests over some connections, and again what is refused for load.
 *
 * @param {{url: string, token?: string}} server
 * @param {number} count
 * @param {(index: number) => {method: string, path: string, body: string}} make
 * @param {number} [connections]
 */
export async function callAll(server, count, make, connections = CONNECTIONS) {
  const url = new URL(server.url);
  const bytes = (index) => {
    const { method, path, body } = make(index);
    return requestBytes(url, method, path, body, server.token ?? '');
  };
  await sendAll(url, connections, count, bytes);
}

/**
 * Makes an empty collection for the vectors of a set, in place of one of that name.
 *
 * @param {{url: string, token?: string}} server
 * @param {string} name
 * @param {import('../../data/vector-set.mjs').VectorSet} set
 * @param {object} [config] of the collection, beside its vectors
 */
export async function makeCollection(server, name, set, config = {}) {
  const path = `/collections/${name}`;
  await ask(server, 'DELETE', path);
  await ask(server, 'PUT', path, { vectors: { size: set.dims, distance: set.distance }, ...config });
}

/**
 * Makes a collection of the first rows of a set, and waits until its index is built.
 *
 * @param {{url: string, token?: string}} server
 * @param {string} name
 * @param {import('../../data/vector-set.mjs').VectorSet} set
 * @param {number} rows
 * @param {{payload: boolean, config?: object}} how `config` is of the collection, beside its vectors
 */
export async function fill(server, name, set, rows, { payload, config = {} }) {
  await makeCollection(server, name, set, config);
  await upsertRows(server, name, set, rows, { payloadOf: (row) => payload && set.payloads?.[row] });
  await untilGreen(server, name);
}

/**
 * Upserts the first rows of a set, each request waited for.
 *
 * @param {{url: string, token?: string}} server
 * @param {string} name of the collection
 * @param {import('../../data/vector-set.mjs').VectorSet} set
 * @param {number} rows
 * @param {{payloadOf: (row: number) => object | null | undefined | false, batch?: number}} how points without a payload
 *   have none of `payloadOf`
 */
export async function upsertRows(server, name, set, rows, { payloadOf, batch = BATCH }) {
  const point = (row) => {
    const payload = payloadOf(row);
    return `{"id":${row},"vector":${set.baseJson(row)}${payload ? `,"payload":${JSON.stringify(payload)}` : ''}}`;
  };
  await callAll(server, Math.ceil(rows / batch), (index) => {
    const first = index * batch;
    const points = Array.from({ length: Math.min(batch, rows - first) }, (_, at) => point(first + at));
    return {
      method: 'PUT',
      path: `/collections/${name}/points?wait=true`,
      body: `{"points":[${points.join(',')}]}`,
    };
  });
}

/** Waits until the index of a collection is built. */
export async function untilGreen(server, name) {
  while ((await ask(server, 'GET', `/collections/${name}`)).status !== 'green') {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
