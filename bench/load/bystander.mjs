/** The client that attackers must not harm: one connection, a search of a small collection every 5 ms. */
import { busyAfter } from './session.mjs';
import { atLeast, atMost } from './verdict.mjs';

/** Searches a second of the bystander. */
export const BYSTANDER_RATE = 200;

/**
 * Starts to measure the bystander, whose connection then stands.
 *
 * @param {import('./session.mjs').Session} session
 * @param {{warmUpSeconds?: number}} [how]
 * @returns {Promise<{report: Promise<import('./generator.mjs').Report>}>}
 */
function start(session, { warmUpSeconds = 0 } = {}) {
  const { generator, server, requests, seconds } = session;
  const traffic = { kind: 'probe', per_second: BYSTANDER_RATE, source: server.bystander.source };
  const how = { token: server.bystander.token, seconds, warmUpSeconds };
  return generator.start(server, traffic, requests.lightSearches(), how);
}

/**
 * Measures the bystander alone, and then beside what `attack` starts. Its connection is older than the attack, and its
 * searches are measured from before the attack begins: connections that are opened beside it are figures of their own.
 * `busyMs` is how long the server works on after the attackers were started, so the time that they take for it counts.
 *
 * @param {import('./session.mjs').Session} session
 * @param {() => Promise<{stop: () => Promise<any>}[]>} attack resolves when all attackers have begun
 * @param {() => Promise<unknown>} [meanwhile] what else is measured during the attack
 */
export async function watchBeside(session, attack, meanwhile = () => Promise.resolve()) {
  // The first searches after a start meet code that V8 has not compiled yet.
  const idle = await (await start(session, { warmUpSeconds: session.scale.warmUpSeconds })).report;
  const bystander = await start(session);
  const attackers = await attack();
  try {
    const [during, beside] = await Promise.all([bystander.report, meanwhile()]);
    const [busyMs, stopped] = await Promise.all([busyAfter(session.server.pid), stopAll(attackers)]);
    return { idle, during, beside, attackers: stopped, busyMs };
  } catch (error) {
    await stopAll(attackers).catch(() => undefined);
    throw error;
  }
}

function stopAll(attackers) {
  return Promise.all(attackers.map(({ stop }) => stop()));
}

/**
 * The bystander's figures beside their bounds.
 *
 * @param {import('./generator.mjs').Report} idle
 * @param {import('./generator.mjs').Report} during
 */
export function bystanderFigures(idle, during) {
  const alone = idle.all.waited.latency.p99;
  return [
    atMost("bystander's p99", during.all.waited.latency.p99, 'ms', {
      must: Math.max(5 * alone, 15),
      aim: 2 * alone,
    }),
    atMost('its worst single wait', during.all.waited.service.max, 'ms', { must: 250, aim: 100 }),
    atLeast('its answers that are 200', goodShare(during), '%', { must: 99, aim: 100 }),
    atMost('its p99 alone', alone, 'ms'),
  ];
}

/** Answers with 200 out of 100 requests that were sent. */
export function goodShare({ all: group }) {
  const { sent } = group.waited;
  return sent > 0 ? (100 * (group.statuses['200']?.count ?? 0)) / sent : null;
}

/** How the requests of some clients ended, in words. */
export function outcomes(reports) {
  const counts = new Map();
  const add = (what, count) => count > 0 && counts.set(what, (counts.get(what) ?? 0) + count);
  for (const { all } of reports) {
    for (const [status, { count }] of Object.entries(all.statuses)) add(status, count);
    add('failed', all.failed);
    add('unanswered', all.unanswered);
  }
  return [...counts].map(([what, count]) => `${what} × ${count}`).join(', ') || 'none';
}
