/**
 * `npm run bench:load -- --data FOLDER …`: what a user has of a server while others attack it, ask for more than it can do,
 * fill its memory or stop it. Clients are processes of the load generator in `crates/load`, on the server's machine.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { compiled } from './compiled.mjs';
import { listOf, mustAnswer, positive, readFlags } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { Generator } from './load/generator.mjs';
import { Requests } from './load/requests.mjs';
import { FULL, QUICK } from './load/scale.mjs';
import { SCENARIOS } from './load/scenarios/index.mjs';
import { isBuiltTree, Remote, Tree } from './load/targets.mjs';
import { figureTable, passes } from './load/verdict.mjs';
import { machine } from './machine.mjs';

const QUICK_SECONDS = 1;

const USAGE = `npm run bench:load -- --data FOLDER [flags]

  --data FOLDER           a folder with meta.json (see data/debian-small/README.md); required
  --scenarios LIST        default: all of
${Object.entries(SCENARIOS)
  .map(([name, { about }]) => `                            ${name.padEnd(10)} ${about}`)
  .join('\n')}
  --callers LIST          of shared (the bystander has the attackers' address and no credential) and
                          own (an address and a token of its own); default: both
  --tree FOLDER           the checkout, built, that servers are started from; default: this one
  --url URL               measure the server there, which has Qdrant's API, instead of a checkout;
                          scenarios that start or stop servers are left out
  --against FOLDER|URL    a second checkout or server: the two are measured in turns
  --token TOKEN           credential for every URL
  --bystander-token TOKEN the bystander's own credential there; default: that of --token
  --seconds S             length of each measurement; default: 10
  --memory-seconds S      length of the upserts of the scenario memory; default: 600
  --folder FOLDER         where data go, to choose the disk; default: the system's temporary folder
  --quick                 small attacks of ${QUICK_SECONDS} s each: shows that everything runs, and measures nothing
  --out FILE              write everything measured as JSON
`;

const options = {
  data: { type: 'string' },
  scenarios: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
  callers: { type: 'string', default: 'shared,own' },
  tree: { type: 'string' },
  url: { type: 'string' },
  against: { type: 'string' },
  token: { type: 'string', default: '' },
  'bystander-token': { type: 'string', default: '' },
  seconds: { type: 'string' },
  'memory-seconds': { type: 'string' },
  folder: { type: 'string', default: tmpdir() },
  quick: { type: 'boolean', default: false },
  out: { type: 'string' },
};

const oneOf = (names) => (name) => names.includes(name) || `of ${names.join(', ')}`;
const isUrl = (text) => /^https?:\/\//.test(text);
const plain = (text) => /^http:\/\//.test(text) || 'an address that begins with http://';
const builtTree = (text) => isBuiltTree(text) || 'a checkout that is built (npm run build)';

const flags = readFlags(options, USAGE, {
  scenarios: listOf(oneOf(Object.keys(SCENARIOS))),
  callers: listOf(oneOf(['shared', 'own'])),
  tree: builtTree,
  url: plain,
  against: (text) => (isUrl(text) ? plain(text) : builtTree(text)),
  seconds: positive,
  'memory-seconds': positive,
});
for (const name of ['url', 'against']) {
  if (flags[name] && isUrl(flags[name])) await mustAnswer(flags[name], `--${name}`);
}

const folder = mkdtempSync(join(flags.folder, 'kithdb-bench-load-'));
const set = readVectorSet(flags.data);
const scale = flags.quick ? QUICK : FULL;
const requests = new Requests(set, scale);
const origin = machine('bench:load');
let generator;
const targets = [];
const shared = {};

await untilInterrupted(run, async () => {
  generator?.close();
  for (const target of targets) await target.cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

async function run() {
  generator = new Generator(await compiled('kithdb-load', 'kithdb-load'), folder);
  const wheres = [flags.url ?? flags.tree ?? root, flags.against].filter((where) => where !== undefined);
  for (const where of wheres) await prepare(where);
  const report = {
    set: { name: set.name, rows: set.rows, dims: set.dims, distance: set.distance },
    machine: origin,
    targets: await Promise.all(targets.map((target) => target.describe())),
    scale,
    results: [],
  };
  for (const measurement of measurements()) {
    report.results.push(await measure(measurement));
    if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
  }
  printSummary(report.results);
}

async function prepare(where) {
  const bench = { set, scale };
  const tokens = { token: flags.token, bystanderToken: flags['bystander-token'] };
  const place = join(folder, `target-${targets.length}`);
  const target = isUrl(where) ? new Remote(where, tokens, bench) : new Tree(where, place, bench);
  targets.push(target);
  console.log(`${target.name}: loading ${set.name}`);
  await target.prepare();
}

/** Which target is first changes from part to part. */
function* measurements() {
  let parts = 0;
  for (const name of flags.scenarios.split(',')) {
    const scenario = SCENARIOS[name];
    const callers = scenario.byCallers ? flags.callers.split(',') : [null];
    for (const part of scenario.parts(scale)) {
      for (const caller of callers) {
        const order = parts++ % 2 === 0 ? targets : targets.toReversed();
        for (const target of order) yield { name, scenario, part, callers: caller, target };
      }
    }
  }
}

/** One part of a scenario with one server; a failure is a result too, and the others go on. */
async function measure({ name, scenario, part, callers, target }) {
  const heading = { scenario: name, part: part.name, callers, target: target.name };
  console.log(
    `\n${[name, part.name, callers && `callers: ${callers}`, target.name].filter(Boolean).join(' · ')}`,
  );
  if (scenario.needsTree && !target.isTree) {
    console.log('left out: it starts and stops servers');
    return { ...heading, leftOut: true };
  }
  let server;
  try {
    server = await target.start({ ...part.start, ...(callers && { callers }) });
    const session = { generator, server, set, scale, shared, requests, ...lengths() };
    const { figures, note, details } = await part.run(session);
    console.log(figureTable(figures));
    if (note) console.log(note);
    return { ...heading, passes: passes(figures), figures, note, details };
  } catch (error) {
    console.log(`failed: ${error.message}`);
    process.exitCode = 1;
    return { ...heading, failed: error.message };
  } finally {
    await server?.kill();
  }
}

function lengths() {
  const [seconds, memorySeconds] = flags.quick ? [QUICK_SECONDS, QUICK_SECONDS] : [10, 600];
  return {
    seconds: Number(flags.seconds ?? seconds),
    memorySeconds: Number(flags['memory-seconds'] ?? memorySeconds),
  };
}

function printSummary(results) {
  const done = results.filter(({ figures }) => figures);
  const missed = done.filter((result) => !result.passes);
  console.log(`\n${done.length - missed.length} of ${done.length} parts reach what they must`);
  for (const { scenario, part, callers, target, figures } of missed) {
    const names = figures.filter(({ verdict }) => verdict === 'missed').map(({ what }) => what);
    console.log(
      `missed by ${target}: ${[scenario, part, callers].filter(Boolean).join(' ')}: ${names.join('; ')}`,
    );
  }
}
