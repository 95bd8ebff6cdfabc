/** Sends prepared requests over many connections at once and measures the answers. */
import { Connection } from './connection.mjs';

/** How often a request that got a 429 is tried again before the run fails. */
const OVERLOAD_RETRIES = 100;

/**
 * Sends each request once, over whichever connection is free.
 *
 * @param {URL} url
 * @param {number} connections
 * @param {number} count
 * @param {(index: number) => Buffer} make the request with that index
 * @param {(index: number, body: Buffer) => void} [take] what to do with its answer
 * @returns {Promise<{seconds: number, retries: number}>}
 */
export async function sendAll(url, connections, count, make, take = () => {}) {
  const open = await openAll(url, connections);
  let next = 0;
  let retries = 0;
  const startedAt = performance.now();
  await each(open, async (connection) => {
    while (next < count) {
      const index = next++;
      const bytes = make(index);
      let answer = await connection.send(bytes);
      for (let attempt = 0; answer.status === 429 && attempt < OVERLOAD_RETRIES; attempt++) {
        retries++;
        await new Promise((resolve) => setTimeout(resolve, 50));
        answer = await connection.send(bytes);
      }
      requireSuccess(answer);
      take(index, answer.body);
    }
  });
  return { seconds: (performance.now() - startedAt) / 1000, retries };
}

/**
 * Sends the requests repeatedly for a while; each connection sends the next one when it has an answer.
 *
 * @param {URL} url
 * @param {number} connections
 * @param {Buffer[]} requests
 * @param {number} seconds
 * @param {(body: Buffer) => void} [check] throws when an answer is not what it should be
 * @returns {Promise<{perSecond: number, p50Ms: number, p99Ms: number, requests: number, clientUs: number}>} with the
 *   processor time of this process for each request in microseconds
 */
export async function measureRate(url, connections, requests, seconds, check = () => {}) {
  const open = await openAll(url, connections);
  const latencies = [];
  let next = 0;
  const usedBefore = process.cpuUsage();
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  await each(
    open,
    (connection) =>
      new Promise((resolve, reject) => {
        let sentAt = 0;
        const send = () => {
          connection.request(requests[next++ % requests.length], answered);
        };
        const answered = (error, status, body) => {
          const now = performance.now();
          try {
            if (error) throw error;
            requireSuccess({ status, body });
            check(body);
          } catch (wrong) {
            reject(wrong);
            return;
          }
          latencies.push(now - sentAt);
          if (now >= endsAt) {
            resolve();
            return;
          }
          sentAt = now;
          send();
        };
        sentAt = performance.now();
        send();
      }),
  );
  const took = (performance.now() - startedAt) / 1000;
  const used = process.cpuUsage(usedBefore);
  latencies.sort((a, b) => a - b);
  const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
  return {
    perSecond: latencies.length / took,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    requests: latencies.length,
    clientUs: (used.user + used.system) / latencies.length,
  };
}

async function each(connections, work) {
  try {
    await Promise.all(connections.map(work));
  } finally {
    for (const connection of connections) connection.close();
  }
}

function openAll(url, connections) {
  return Promise.all(Array.from({ length: connections }, () => Connection.open(url)));
}

function requireSuccess({ status, body }) {
  if (status !== 200) throw new Error(`the server answered ${status}: ${body.toString('utf8', 0, 500)}`);
}
