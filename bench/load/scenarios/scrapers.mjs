/** Attack 24: scrapers of `/metrics` beside many collections. */
import { BYSTANDER_RATE, bystanderFigures, goodShare, outcomes, watchBeside } from '../bystander.mjs';
import { callAll } from '../calls.mjs';
import { attack } from '../session.mjs';
import { atLeast, atMost, shown } from '../verdict.mjs';

/** Connections that make the collections. */
const MAKERS = 16;

/** @type {import('../session.mjs').Scenario} */
export const scrapers = {
  about:
    'scrapers of /metrics beside many collections; requests of /healthz, and then the bystander, beside them',
  parts: ({ collections }) =>
    collections.map((count) => ({ name: `${count} collections`, run: (session) => scrape(session, count) })),
};

async function scrape(session, count) {
  const { server, generator, scale, seconds } = session;
  const path = (at) => `/collections/bench_load_many_${at}`;
  const body = JSON.stringify({ vectors: { size: 4, distance: 'Dot' } });
  await callAll(server, count, (at) => ({ method: 'PUT', path: path(at), body }), MAKERS);
  const health = [{ label: 'healthz', method: 'GET', path: '/healthz' }];
  const watch = (warmUpSeconds) =>
    generator.run(server, { kind: 'probe', per_second: BYSTANDER_RATE }, health, { seconds, warmUpSeconds });
  const idle = await watch(scale.warmUpSeconds);
  const metrics = [{ label: 'metrics', method: 'GET', path: '/metrics' }];
  const attackNow = () => attack(session, { kind: 'closed', connections: scale.scrapers }, metrics);
  const attackers = await attackNow();
  let during;
  try {
    during = await watch(0);
  } finally {
    await attackers.stop();
  }
  const scraped = await attackers.report;
  // By itself, so that /healthz is asked for beside scrapers alone.
  const searches = await watchBeside(session, async () => [await attackNow()]);
  if (!server.pid)
    await callAll(server, count, (at) => ({ method: 'DELETE', path: path(at), body: '' }), MAKERS);
  const [alone, beside] = [idle.all.waited.latency, during.all.waited.latency];
  const figures = [
    atMost('p99 of /healthz ÷ alone', beside.p99 / alone.p99, '', { must: 5, aim: 2 }),
    atLeast('answers of /healthz that are 200', goodShare(during), '%', { must: 99, aim: 100 }),
    shown('p99 of /healthz', beside.p99, 'ms'),
    shown('alone', alone.p99, 'ms'),
    ...bystanderFigures(searches.idle, searches.during),
    shown('p50 of /metrics', scraped.all.waited.service.p50, 'ms'),
  ];
  return { figures, note: `scrapers: ${outcomes([scraped])}`, details: { idle, during, scraped, searches } };
}
