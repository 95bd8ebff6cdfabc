/** The faults that `npm run test:long -- faults` plants: code, table and page agree, and the product has none. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { BuildError } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { recordedFaults } from '../long/faults/page.mjs';
import { allFaults, DETECTED_BY, engineFaults } from '../long/faults/table.mjs';

const { TYPESCRIPT_FAULTS, withReplacement } = createRequire(import.meta.url)(
  '../../test/faults/typescript.cjs',
);

const VARIABLE = 'PLANTED_FAULT';
const engine = join(root, 'crates', 'engine');

/** @returns {string} a note for the line of the step */
export function checkFaults() {
  const problems = [...wrongNames(), ...withoutPlace(), ...withoutTest(), ...inProduct()];
  if (problems.length > 0) throw new BuildError(`Planted faults (docs/faults.md):\n${problems.join('\n')}`);
  return `${Object.keys(DETECTED_BY).length} faults`;
}

/** Faults that are in the code, the table or the page, and not in all three, and those that no run has detected. */
function wrongNames() {
  const known = new Set(Object.keys(allFaults()));
  const tabled = new Set(Object.keys(DETECTED_BY));
  const recorded = recordedFaults();
  return [
    ...[...known].filter((fault) => !tabled.has(fault)).map((fault) => `${fault}: no test is named for it`),
    ...[...tabled].filter((fault) => !known.has(fault)).map((fault) => `${fault}: there is no such fault`),
    ...[...tabled]
      .filter((fault) => !recorded.get(fault)?.commit)
      .map((fault) => `${fault}: no run has detected it: npm run test:long -- faults`),
    ...[...recorded.keys()]
      .filter((fault) => !tabled.has(fault))
      .map((fault) => `${fault}: only in the page`),
  ];
}

/** Faults that change nothing: no place in the engine asks for them, or the piece of a source is not there once. */
function withoutPlace() {
  const sources = textsIn(join(engine, 'src'), '.rs').join('\n');
  const used = new Set([...sources.matchAll(/PlantedFault::(\w+)\s*\./g)].map(([, fault]) => fault));
  const unused = Object.keys(engineFaults()).filter((fault) => !used.has(fault));
  const problems = unused.map((fault) => `${fault}: no place in the engine asks for it`);
  for (const [name, fault] of Object.entries(TYPESCRIPT_FAULTS)) {
    try {
      withReplacement(readFileSync(join(root, fault.file), 'utf8'), fault);
    } catch (error) {
      problems.push(`${name}: ${error.message}`);
    }
  }
  return problems;
}

function withoutTest() {
  const modules = [...modulesIn('src', ['lib']), ...modulesIn('tests', [])];
  const exists = (test) =>
    test.kind === 'jest'
      ? readFileSync(join(root, test.file), 'utf8').includes(test.name)
      : modules.some((module) => hasTest(module, [test.program, ...test.name.split('::')]));
  const missing = Object.entries(DETECTED_BY).filter(([, test]) => !exists(test));
  return missing.map(([fault, { name }]) => `${fault}: there is no test '${name}'`);
}

/** The Rust files of a folder of the engine: which module each is, below `top`, and its text. */
function modulesIn(folder, top) {
  return sourcesIn(join(engine, folder), '.rs').map(({ name, text }) => {
    const path = name.replace(/\.rs$/, '').split(sep);
    return { path: [...top, ...path.filter((part) => !['lib', 'main', 'mod'].includes(part))], text };
  });
}

/** Whether a file has the test of that path: it is the module, or has the rest of the modules in it. */
function hasTest({ path, text }, test) {
  const inFile = test.slice(path.length, -1);
  return (
    path.every((part, at) => test[at] === part) &&
    inFile.every((part) => text.includes(`mod ${part} {`)) &&
    text.includes(`fn ${test.at(-1)}(`)
  );
}

/** The variable that plants them is in the addon of the tests, and in nothing that is shipped. */
function inProduct() {
  const inFolder = (folder, suffix) => textsIn(folder, suffix).some((text) => text.includes(VARIABLE));
  const native = join(root, 'native');
  const inShipped = readdirSync(native)
    .filter((name) => name.endsWith('.node'))
    .some((name) => readFileSync(join(native, name)).includes(VARIABLE));
  return [
    ...(inShipped ? ['the shipped addon has them'] : []),
    ...(inFolder(join(root, 'dist'), '.js') || inFolder(join(root, 'src'), '.ts')
      ? ['what is shipped of TypeScript has them']
      : []),
    ...(inFolder(join(native, 'testing'), '.node') ? [] : ['the addon of the tests does not have them']),
  ];
}

/** The contents of the files below a folder whose names end so. */
const textsIn = (folder, suffix) => sourcesIn(folder, suffix).map(({ text }) => text);

/** The files below a folder whose names end so. */
function sourcesIn(folder, suffix) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(suffix));
  return names.map((name) => ({ name, text: readFileSync(join(folder, name), 'latin1') }));
}
