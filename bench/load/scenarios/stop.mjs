/** Attack 7: SIGTERM while requests come, with many collections that have not been checkpointed. */
import { ask, callAll } from '../calls.mjs';
import { outcomes } from '../bystander.mjs';
import { LIGHT } from '../requests.mjs';
import { attack } from '../session.mjs';
import { atMost, holds, shown } from '../verdict.mjs';

/** Connections that make the collections, and those of the load. */
const MAKERS = 16;
const SEARCHERS = 16;
const WRITERS = 4;

/** @type {import('../session.mjs').Scenario} */
export const stop = {
  about: 'SIGTERM under load with many collections that have not been checkpointed',
  needsTree: true,
  parts: ({ dirtyCollections }) => [
    {
      name: `${dirtyCollections} dirty collections`,
      run: (session) => stopUnderLoad(session, dirtyCollections),
    },
  ],
};

async function stopUnderLoad(session, count) {
  const { server, requests } = session;
  const path = (at) => `/collections/bench_load_dirty_${at}`;
  const body = JSON.stringify({ vectors: { size: 4, distance: 'Dot' } });
  await callAll(server, count, (at) => ({ method: 'PUT', path: path(at), body }), MAKERS);
  const point = JSON.stringify({ points: [{ id: 1, vector: [1, 2, 3, 4] }] });
  await callAll(
    server,
    count,
    (at) => ({ method: 'PUT', path: `${path(at)}/points?wait=true`, body: point }),
    MAKERS,
  );
  const clients = [
    await attack(session, { kind: 'closed', connections: SEARCHERS }, requests.searches()),
    await attack(session, { kind: 'closed', connections: WRITERS }, requests.smallUpserts(LIGHT)),
  ];
  const signalledAt = performance.now();
  const exitCode = await server.stop();
  const seconds = (performance.now() - signalledAt) / 1000;
  const reports = await Promise.all(clients.map((client) => client.stop()));
  const again = await server.restart();
  try {
    const lost = await lostPoints(again, count, path);
    const figures = [
      atMost('from SIGTERM to the exit', seconds, 's', { must: 10, aim: 3 }),
      holds('exit code 0', exitCode === 0),
      atMost('acknowledged points that are lost', lost, '', { must: 0, aim: 0 }),
      shown('the next start', again.readyAfterMs / 1000, 's'),
    ];
    return { figures, note: `load: ${outcomes(reports)}`, details: { reports } };
  } finally {
    await again.kill();
  }
}

/** Collections whose one point is not there. */
async function lostPoints(server, count, path) {
  let lost = 0;
  let next = 0;
  const look = async () => {
    while (next < count) {
      const result = await ask(server, 'POST', `${path(next++)}/points/count`, {});
      if (result.count !== 1) lost++;
    }
  };
  await Promise.all(Array.from({ length: MAKERS }, look));
  return lost;
}
