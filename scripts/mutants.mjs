/**
 * `npm run mutants -- rust|typescript [--seed S] [--sample N] …`: plants small faults into the code, one at a time, and
 * says whether a test notices. What was found is kept in docs/mutants.json, so that a sample is tested over many sittings.
 */
import { parseArgs } from 'node:util';
import { BuildError, say } from './build/process.mjs';
import { keep, keyOf, readRecord, summaryOf } from './mutants/record.mjs';
import { openRust } from './mutants/rust.mjs';
import { changedIn, movedTo, nameOf, sampleOf, shardOf } from './mutants/sample.mjs';
import { commitOf, diffOf, fileOf } from './mutants/tree.mjs';
import { openTypescript } from './mutants/typescript.mjs';
import { numberOf } from './number-flag.mjs';

const USAGE = `npm run mutants -- rust|typescript [--seed S] [--sample N] [--shard K/N] [--commit REV] [--diff REV]
                                 [--minutes M] [--programs LIST] [--survivors] [--list]

  rust           the engine's log, storage, catalog, collections, indexes, filters and queries, by cargo-mutants
  typescript     src/auth and src/http, by Stryker's mutators
  --seed S       which sample, 1 by default
  --sample N     how many mutants, 200 (rust) or 100 (typescript) by default
  --shard K/N    every N-th mutant of the sample, from number K on
  --commit REV   the commit to test, with its own tests; HEAD by default
  --diff REV     only mutants of lines that the commit has changed since REV; the sample is drawn from these
  --minutes M    begin no mutant after M minutes
  --programs L   of rust: only these test programs, lib for the unit tests; all by default
  --survivors    in place of the sample: those of the record that survived and whose line this commit has, moved or not
  --list         only print the mutants, and what the record has of them

A mutant that docs/mutants.json has for the commit is not tested again. A test has to fail twice, the second time alone,
to have noticed a mutant; what does not end is counted apart. The first run compiles the tools.`;

const LANGUAGES = {
  rust: { open: openRust, sample: 200 },
  typescript: { open: openTypescript, sample: 100 },
};

const request = readArguments();
if (request !== undefined) {
  try {
    await run(request);
  } catch (error) {
    console.log(error instanceof BuildError ? error.message : error);
    process.exitCode = 1;
  }
}

/** Tests what a request asks for, and prints a line for each mutant. */
async function run(request) {
  const { language, minutes = Infinity } = request;
  const commit = await commitOf(request.commit);
  const { mutants, prepare, isSlow, test } = await LANGUAGES[language].open(commit, request.programs);
  const chosen = request.survivors
    ? await survivorsOf(language, commit, mutants)
    : await chosenOf(request, commit, mutants);
  const entryOf = (mutant) => recordedOf(language, commit, mutant);
  say(`${chosen.length} of ${mutants.length} mutants of ${commit.slice(0, 7)}`);
  const isOpen = ({ mutant }) => request.survivors || entryOf(mutant) === undefined;
  if (!request.list && chosen.some(isOpen)) {
    await prepare?.(chosen.map(({ mutant }) => mutant));
    if (isSlow !== undefined) chosen.sort((a, b) => isSlow(a.mutant) - isSlow(b.mutant));
  }
  const until = performance.now() + minutes * 60_000;
  for (const { mutant, earlier } of chosen) {
    const known = entryOf(mutant);
    if (request.list) console.log(`${(known?.outcome ?? '-').padEnd(9)} ${nameOf(mutant)}`);
    if (request.list || !isOpen({ mutant }) || performance.now() > until) continue;
    const { outcome, by, seconds } = await test(mutant);
    keep(entryFor({ language, commit, mutant, earlier, outcome, by, seconds }));
    say(
      `${outcome.padEnd(9)} ${seconds.toFixed(0).padStart(4)} s  ${nameOf(mutant)}${by ? `\n${' '.repeat(18)}by ${by}` : ''}`,
    );
  }
  const known = chosen.map(({ mutant, earlier }) => entryOf(mutant) ?? recordedAs(earlier)).filter(Boolean);
  console.log(`${language}, ${chosen.length} of ${commit.slice(0, 7)}: ${summaryOf(known)}`);
}

/** The sample, or what is left of it. */
async function chosenOf({ language, seed, sample, shard, diff }, commit, mutants) {
  const from = diff === undefined ? mutants : changedIn(mutants, await diffOf(diff, commit));
  const drawn = sampleOf(from, seed, sample ?? LANGUAGES[language].sample);
  return shardOf(drawn, shard).map((mutant) => ({ mutant }));
}

/** What survived in any commit, where this one still has its line. Those that it has not are printed. */
async function survivorsOf(language, commit, mutants) {
  const survivors = readRecord().filter(
    (entry) => entry.language === language && entry.outcome === 'survived',
  );
  const found = [];
  for (const earlier of survivors) {
    const [before, now] = await Promise.all([
      fileOf(earlier.commit, earlier.file),
      fileOf(commit, earlier.file),
    ]);
    const ofFile = mutants.filter(({ file }) => file === earlier.file);
    const mutant = movedTo(earlier, ofFile, before, now);
    if (mutant === undefined) say(`The line has changed since: ${nameOf(earlier)}`);
    else found.push({ mutant, earlier });
  }
  return found;
}

function recordedOf(language, commit, mutant) {
  const key = keyOf({ language, commit, ...mutant });
  return readRecord().find((entry) => keyOf(entry) === key);
}

function recordedAs(earlier) {
  return earlier && readRecord().find((entry) => keyOf(entry) === keyOf(earlier));
}

/** A line of the record. That of a former survivor keeps the commit whose sample it belongs to, and its line there. */
function entryFor({ language, commit, mutant, earlier, outcome, by, seconds }) {
  const { file, line, column } = earlier ?? mutant;
  const isNew = earlier === undefined || earlier.commit === commit;
  return {
    ...{ language, commit: isNew ? commit : earlier.commit, date: new Date().toISOString().slice(0, 10) },
    ...{ file, line, column, mutant: mutant.mutant, outcome, seconds: Math.round(seconds) },
    ...(by === undefined ? {} : { by }),
    ...(isNew ? {} : { since: commit }),
  };
}

/** The request of the command line. Undefined when it asks for the usage, or is wrong. */
function readArguments() {
  try {
    const text = { type: 'string' };
    const yes = { type: 'boolean' };
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ...{ seed: text, sample: text, shard: text, commit: text, diff: text, minutes: text, programs: text },
        ...{ survivors: yes, list: yes, help: { ...yes, short: 'h' } },
      },
    });
    if (values.help) {
      console.log(USAGE);
      return undefined;
    }
    const [language, ...others] = positionals;
    if (!(language in LANGUAGES) || others.length > 0)
      throw new Error('Say rust or typescript, and nothing else.');
    if (language !== 'rust' && values.programs !== undefined) throw new Error('--programs is for rust alone');
    return {
      language,
      seed: numberOf('seed', values.seed ?? '1', (seed) => Number.isSafeInteger(seed) && seed >= 0),
      sample: numberOf('sample', values.sample, (size) => Number.isSafeInteger(size) && size > 0),
      shard: partOf(values.shard ?? '1/1'),
      commit: values.commit ?? 'HEAD',
      diff: values.diff,
      minutes: numberOf('minutes', values.minutes, (minutes) => minutes > 0),
      programs: values.programs?.split(','),
      survivors: values.survivors,
      list: values.list,
    };
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
    return undefined;
  }
}

function partOf(text) {
  const [, shard, count] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (!(shard >= 1 && shard <= count)) throw new Error(`--shard ${text}: expected K/N, K from 1 to N`);
  return { shard, count };
}
