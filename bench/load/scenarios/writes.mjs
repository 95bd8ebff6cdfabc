/** Attacks 18 and 19: writes whose filters read every payload. */
import { bystanderFigures, goodShare, outcomes, watchBeside } from '../bystander.mjs';
import { HEAVY, LIGHT } from '../requests.mjs';
import { attack, busyFigure } from '../session.mjs';
import { atLeast, atMost } from '../verdict.mjs';

/** Small writes a second beside the heavy ones. */
const LIGHT_RATE = 10;

/** Heavy writes between which a small one to the same collection waits. */
const NEIGHBOURS = 2;

/** What a light write may take beside heavy ones. */
const LIGHT_WRITE = { must: 250, aim: 50 };

/** @type {import('../session.mjs').Scenario} */
export const heavyBatches = {
  about:
    'batches of set_payload whose filters read every payload; small writes to, and creations of, other collections',
  byCallers: true,
  parts: ({ batchConnections }) => [
    {
      name: 'batches',
      run: (session) =>
        besideBatches(session, batchConnections, {
          'a light write': session.requests.smallUpserts(LIGHT),
          'a creation': session.requests.creations(),
        }),
    },
  ],
};

/** @type {import('../session.mjs').Scenario} */
export const writesBetween = {
  about: 'small writes between heavy writes to their collection; creations of other collections',
  byCallers: true,
  parts: () => [
    {
      name: 'between',
      run: (session) =>
        besideBatches(session, NEIGHBOURS, {
          'a light write': session.requests.smallUpserts(HEAVY),
          'a creation': session.requests.creations(),
        }),
    },
  ],
};

/** @param {Record<string, import('../generator.mjs').Request[]>} light what is measured beside the bystander, by name */
async function besideBatches(session, connections, light) {
  const { generator, server, seconds } = session;
  const { token, source } = server.bystander;
  const traffic = { kind: 'probe', per_second: LIGHT_RATE, source };
  const names = Object.keys(light);
  const result = await watchBeside(
    session,
    async () => [await attack(session, { kind: 'closed', connections }, session.requests.heavyBatch())],
    () => Promise.all(names.map((name) => generator.run(server, traffic, light[name], { token, seconds }))),
  );
  const figures = names.flatMap((name, at) => [
    atMost(`${name}, p99`, result.beside[at].all.waited.latency.p99, 'ms', LIGHT_WRITE),
    atLeast(`${name}, answers that are 200`, goodShare(result.beside[at]), '%', { must: 99, aim: 100 }),
  ]);
  figures.push(...bystanderFigures(result.idle, result.during), busyFigure(result.busyMs));
  return { figures, note: `attackers: ${outcomes(result.attackers)}`, details: result };
}
