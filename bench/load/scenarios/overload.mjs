/** Attack 9: more requests than a server can answer, in closed and open loops, and a light client beside a heavy one. */
import { outcomes } from '../bystander.mjs';
import { attack } from '../session.mjs';
import { atLeast, atMost, shown } from '../verdict.mjs';

/** The least time of a search of the open loop, alone, in ms. */
const COSTLY_MS = 5;

/** The load, as a share of the peak, whose p99 is that of a server with time to spare. */
const EASY_LOAD = 0.7;
const OVERLOAD = 4;

/** @type {import('../session.mjs').Scenario} */
export const overload = {
  about: 'goodput ÷ peak: many connections in a closed loop, and an open loop at four times the rate',
  parts: () => [
    { name: 'closed loop', run: closedLoop },
    { name: 'open loop', run: openLoop },
  ],
};

async function closedLoop(session) {
  const requests = session.requests.searches();
  const connections = session.scale.closedConnections;
  const peak = await findPeak(session, requests, session.scale.peakConnections);
  const easy = await openAt(session, requests, EASY_LOAD * peak.perSecond);
  const atOnce = await run(session, { kind: 'closed', connections }, requests);
  const patient = await run(session, { kind: 'closed', connections, waits_when_refused: true }, requests);
  const figures = [
    shown('peak', peak.perSecond, '/s'),
    shown('at connections', peak.connections),
    ...overloadFigures(`${connections} connections`, atOnce, peak, easy),
    ...overloadFigures('the same, that wait as Retry-After asks', patient, peak, easy),
  ];
  const note = `${connections} connections: ${outcomes([atOnce])}; waiting: ${outcomes([patient])}`;
  return { figures, note, details: { levels: peak.levels, easy, atOnce, patient } };
}

async function openLoop(session) {
  const { requests, costMs, length } = await costly(session);
  const peak = await findPeak(session, requests, session.scale.costlyPeakConnections);
  const easy = await openAt(session, requests, EASY_LOAD * peak.perSecond);
  const over = await openAt(session, requests, OVERLOAD * peak.perSecond);
  const figures = [
    shown('a search, alone', costMs, 'ms'),
    shown('peak', peak.perSecond, '/s'),
    ...overloadFigures(`at ${OVERLOAD} × the peak`, over, peak, easy),
  ];
  const note = `each of ${length} exact searches; at ${OVERLOAD} × the peak: ${outcomes([over])}`;
  return { figures, note, details: { length, levels: peak.levels, easy, over } };
}

/**
 * Searches that take long enough on an idle server: batches of exact ones, doubled until they do. What was found for the
 * first server is sent to the second, too.
 */
async function costly(session) {
  const { shared, scale } = session;
  for (let length = shared.costlyLength ?? 1; ; length *= 2) {
    const requests = session.requests.costlySearches(length);
    const alone = await run(session, { kind: 'closed', connections: 1 }, requests);
    const costMs = alone.all.waited.service.p50;
    if (costMs >= COSTLY_MS || length >= scale.longestBatch || length === shared.costlyLength) {
      shared.costlyLength = length;
      return { requests, costMs, length };
    }
  }
}

/** The highest rate of answers with 200 in a closed loop, and the fewest connections that reach 97 % of it. */
async function findPeak(session, requests, levels) {
  const measured = [];
  for (const connections of levels) {
    const report = await run(session, { kind: 'closed', connections }, requests);
    measured.push({ connections, perSecond: goodput(report) });
  }
  const highest = Math.max(...measured.map(({ perSecond }) => perSecond));
  const { connections } = measured.find(({ perSecond }) => perSecond >= 0.97 * highest);
  return { perSecond: highest, connections, levels: measured };
}

function openAt(session, requests, perSecond) {
  const traffic = { kind: 'open', connections: session.scale.openConnections, per_second: perSecond };
  return run(session, traffic, requests);
}

function run({ generator, server, scale, seconds }, traffic, requests) {
  const how = { token: server.attackerToken, seconds, warmUpSeconds: scale.warmUpSeconds };
  return generator.run(server, traffic, requests, how);
}

function goodput({ all, seconds }) {
  return (all.statuses['200']?.count ?? 0) / seconds;
}

function overloadFigures(who, report, peak, easy) {
  const { statuses } = report.all;
  const admitted = statuses['200']?.latency.p99 ?? null;
  const refused = statuses['429'];
  const usual = easy.all.statuses['200']?.latency.p99 ?? null;
  return [
    atLeast(`${who}: goodput ÷ peak`, goodput(report) / peak.perSecond, '', { must: 0.9, aim: 0.95 }),
    refused
      ? atMost(`${who}: refusals' p99`, refused.service.p99, 'ms', { must: 10, aim: 3 })
      : shown(`${who}: refusals`, 'none'),
    atMost(
      `${who}: p99 of the admitted ÷ at ${EASY_LOAD} load`,
      admitted === null || usual === null ? null : admitted / usual,
      '',
      { must: 3, aim: 2 },
    ),
  ];
}

/** @type {import('../session.mjs').Scenario} */
export const neighbour = {
  about: 'a client of one connection beside one of many, both with ordinary searches',
  byCallers: true,
  parts: () => [{ name: 'neighbour', run: besideHeavy }],
};

async function besideHeavy(session) {
  const { generator, server, seconds, scale } = session;
  const { token, source } = server.bystander;
  const searches = session.requests.searches();
  const light = (warmUpSeconds) =>
    generator.run(server, { kind: 'probe', source }, searches, { token, seconds, warmUpSeconds });
  const alone = await light(scale.warmUpSeconds);
  const heavy = await attack(session, { kind: 'closed', connections: scale.heavyConnections }, searches);
  let beside;
  try {
    beside = await light(0);
  } finally {
    await heavy.stop();
  }
  const heavyReport = await heavy.report;
  const [idle, busy] = [alone.all.waited.service, beside.all.waited.service];
  const figures = [
    atMost("the light client's p99 ÷ alone", busy.p99 / idle.p99, '', { must: 5, aim: 2 }),
    shown('its p99', busy.p99, 'ms'),
    shown('alone', idle.p99, 'ms'),
    shown("the heavy client's rate", goodput(heavyReport), '/s'),
  ];
  const note = `light: ${outcomes([beside])}; heavy: ${outcomes([heavyReport])}`;
  return { figures, note, details: { alone, beside, heavy: heavyReport } };
}
