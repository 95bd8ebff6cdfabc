/**
 * Upserts in a thread of its own until it is stopped, so that the client's work for the writers does not delay the
 * searches that are measured meanwhile.
 */
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Connection } from './connection.mjs';

/**
 * Starts to send the requests, over and over, on so many connections, and waits for the first answer.
 *
 * @param {URL} url
 * @param {number} connections
 * @param {Buffer[]} requests
 * @returns {Promise<() => Promise<{seconds: number, requests: number, refused: number}>>} what stops it and tells what
 *   was answered
 */
export async function startIngest(url, connections, requests) {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { url: url.href, connections, requests },
  });
  const message = () =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  await message();
  const ended = message();
  // `stop` reports an error; until then the rejection is handled here.
  ended.catch(() => undefined);
  return () => {
    worker.postMessage('stop');
    return ended;
  };
}

if (!isMainThread && workerData?.requests) {
  let stopped = false;
  let answered = false;
  parentPort.once('message', () => (stopped = true));
  const { url, connections, requests } = workerData;
  const startedAt = performance.now();
  let next = 0;
  let refused = 0;
  const send = async () => {
    const connection = await Connection.open(new URL(url));
    while (!stopped) {
      const bytes = requests[next++ % requests.length];
      const { status, body } = await connection.send(bytes);
      if (status === 429) refused++;
      else if (status !== 200)
        throw new Error(`the server answered ${status}: ${Buffer.from(body).toString('utf8', 0, 500)}`);
      if (!answered) parentPort.postMessage('answered');
      answered = true;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, send));
  parentPort.postMessage({
    seconds: (performance.now() - startedAt) / 1000,
    requests: next - refused,
    refused,
  });
}
