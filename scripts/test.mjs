/**
 * `npm test [-- step …]`: every check and test, locally and in CI. Builds what is out of date. Named steps run alone,
 * and build nothing unless they are named `build` and `build-tests`.
 */
import { BuildError, say } from './build/process.mjs';
import { LANES, NEEDS, steps } from './test/steps.mjs';
import { Tally } from './test/tally.mjs';

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in steps));
if (unknown.length > 0) {
  say(`No such step: ${unknown.join(', ')}. The steps are: ${Object.keys(steps).join(', ')}`);
  process.exit(2);
}
process.exitCode = await runSteps(new Set(chosen.length > 0 ? chosen : Object.keys(steps)));

/** Runs the lanes side by side. After a failure no further step starts, and those that run come to their end. */
async function runSteps(names) {
  const startedAt = performance.now();
  const tally = new Tally();
  const ended = new Map();
  let hasFailed = false;
  for (const name of names) ended.set(name, deferred());
  const runLane = async (lane) => {
    for (const name of lane.filter((step) => names.has(step))) {
      await Promise.all((NEEDS[name] ?? []).map((needed) => ended.get(needed)?.promise));
      if (!hasFailed && !(await runStep(name, tally))) hasFailed = true;
      ended.get(name).resolve();
    }
  };
  await Promise.all(LANES.map(runLane));
  tally.printSlowest();
  tally.printSkipped();
  tally.printFailures();
  if (!hasFailed) console.log(`All steps passed in ${secondsSince(startedAt)}`);
  tally.printCounts(hasFailed);
  return hasFailed ? 1 : 0;
}

/** Runs one step and prints its line; whether it passed. */
async function runStep(name, tally) {
  const startedAt = performance.now();
  const line = (state) => `${state.padEnd(7)} ${name.padEnd(16)} ${secondsSince(startedAt).padStart(8)}`;
  try {
    const note = await steps[name](tally);
    const why = /^skipped: (.*)/.exec(note ?? '')?.[1];
    if (why !== undefined) tally.skip(`step ${name}`, why);
    console.log(`${line('ok')}${typeof note === 'string' ? `  ${note}` : ''}`);
    return true;
  } catch (error) {
    console.log(error instanceof BuildError ? error.message : error);
    console.log(line('FAILED'));
    return false;
  }
}

function secondsSince(start) {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** A promise that is resolved from outside. */
function deferred() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}
