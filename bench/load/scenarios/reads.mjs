/** Attacks 1, 2, 6 and 8 of the table in the issue: reads, slow bodies, large answers, silent connections. */
import { bystanderFigures, goodShare, outcomes, watchBeside } from '../bystander.mjs';
import { attack, busyFigure, watchMemory } from '../session.mjs';
import { atLeast, atMost, shown } from '../verdict.mjs';

/** Small requests a second beside the bystander: infos in attack 1, new connections in attack 8. */
const BESIDE_RATE = 10;

/** @type {import('../session.mjs').Scenario} */
export const expensiveReads = {
  about: 'two connections that send the most expensive reads',
  byCallers: true,
  parts: () => [
    { name: 'text', run: (session) => heavyReads(session, session.requests.textReads()) },
    { name: 'best_score', run: (session) => heavyReads(session, session.requests.bestScore()) },
    { name: 'discover', run: (session) => heavyReads(session, session.requests.discover()) },
    { name: 'mmr', run: (session) => heavyReads(session, session.requests.mmr()) },
  ],
};

async function heavyReads(session, requests) {
  const traffic = { kind: 'closed', connections: session.scale.heavyReads };
  const result = await watchBeside(
    session,
    async () => [await attack(session, traffic, requests)],
    () => probe(session, [{ label: 'info', method: 'GET', path: '/collections/bench_load_light' }]),
  );
  const figures = [
    ...bystanderFigures(result.idle, result.during),
    shown("the collection's info, worst", result.beside.all.waited.service.max, 'ms'),
    busyFigure(result.busyMs),
  ];
  return { figures, note: `attackers: ${outcomes(result.attackers)}`, details: result };
}

/** @type {import('../session.mjs').Scenario} */
export const slowBodies = {
  about: 'bodies that declare much and come at 1 KiB/s',
  byCallers: true,
  parts: ({ declaringConnections, slowConnections }) => [
    { name: 'declared', run: (session) => slow(session, declaringConnections, 64 << 20) },
    { name: 'many', run: (session) => slow(session, slowConnections, 1 << 20) },
  ],
};

async function slow(session, connections, declared) {
  const traffic = { kind: 'trickle', connections, declared_bytes: declared, bytes_per_second: 1024 };
  const result = await watchBeside(session, async () => [
    await attack(session, traffic, session.requests.slowUpsert()),
  ]);
  const [attackers] = result.attackers;
  const figures = [
    ...bystanderFigures(result.idle, result.during),
    shown('sent by the attackers', attackers.sent_bytes / 1024, 'KiB'),
  ];
  return { figures, note: `attackers: ${outcomes(result.attackers)}`, details: result };
}

/** @type {import('../session.mjs').Scenario} */
export const largeAnswers = {
  about: 'answers with all points, vectors and payload, that are read and that are not',
  byCallers: true,
  parts: () => [
    { name: 'read', run: (session) => wholeAnswers(session, true) },
    { name: 'unread', run: (session) => wholeAnswers(session, false) },
  ],
};

async function wholeAnswers(session, reads) {
  const traffic = { kind: 'closed', connections: session.scale.wholeAnswers, reads };
  const memory = watchMemory(session.server.pid);
  let size;
  try {
    const result = await watchBeside(session, async () => [
      await attack(session, traffic, session.requests.wholeAnswer()),
    ]);
    size = memory.stop();
    const figures = [
      ...bystanderFigures(result.idle, result.during),
      shown('resident memory before', size.firstMb, 'MB'),
      shown('resident memory at most', size.highestMb, 'MB'),
    ];
    return { figures, note: `attackers: ${outcomes(result.attackers)}`, details: { ...result, size } };
  } finally {
    if (!size) memory.stop();
  }
}

/** @type {import('../session.mjs').Scenario} */
export const silentConnections = {
  about: 'connections that send nothing',
  byCallers: true,
  parts: () => [{ name: 'silent', run: silence }],
};

async function silence(session) {
  const traffic = { kind: 'silent', connections: session.scale.silentConnections };
  const search = session.requests.lightSearches().slice(0, 1);
  const result = await watchBeside(
    session,
    async () => [await attack(session, traffic, [])],
    () => probe(session, search, { requests_per_connection: 1 }),
  );
  const [{ connections }] = result.attackers;
  const figures = [
    ...bystanderFigures(result.idle, result.during),
    atMost('worst wait on a new connection', result.beside.all.waited.service.max, 'ms', {
      must: 250,
      aim: 100,
    }),
    atLeast('new connections whose answer is 200', goodShare(result.beside), '%', { must: 99, aim: 100 }),
    shown('silent connections at the end', connections.open_at_end),
    shown('of them closed by the server', connections.closed_by_server),
  ];
  return { figures, details: result };
}

/** A second client with the bystander's address and credential, a few requests a second. */
function probe({ generator, server, seconds }, requests, how = {}) {
  const { token, source } = server.bystander;
  const traffic = { kind: 'probe', per_second: BESIDE_RATE, source, ...how };
  return generator.run(server, traffic, requests, { token, seconds });
}
