/** The steps of `npm test`, and in which order they run. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { bindingTypesAreCurrent } from '../build/addon.mjs';
import { buildEverything } from '../build/everything.mjs';
import { installPackages } from '../build/packages.mjs';
import { BuildError, mustRun } from '../build/process.mjs';
import { preparePython } from '../build/python.mjs';
import { buildTests } from '../build/tests.mjs';
import { fingerprint, isCurrent, remember, root } from '../build/tree.mjs';
import { runSchemathesis } from '../schemathesis.mjs';
import { runCargoTests, runModels } from './cargo.mjs';
import { checkFaults } from './faults.mjs';
import { runJest } from './jest.mjs';
import { requireNotices } from './notices.mjs';
import { lintDescription } from './openapi-lint.mjs';
import { checkPackedInstall } from './packed-install.mjs';
import { checkWorkflows } from './workflows.mjs';

/** Where the results of former checks are kept. */
const built = join(root, '.build');

/** @type {Record<string, (tally: import('./tally.mjs').Tally) => unknown>} a step may answer a note for its line */
export const steps = {
  packages: installPackages,
  build: () => buildEverything({ updateTypes: false }),
  'binding-types': checkBindingTypes,
  'build-tests': buildTests,
  clippy: runClippy,
  'cargo-test': runCargoTests,
  models: runModels,
  'cargo-fmt': () => cargo('fmt', '--all', '--check'),
  prettier: checkFormat,
  tsc: checkTypes,
  eslint: lint,
  openapi: lintDescription,
  workflows: checkWorkflows,
  notices: requireNotices,
  python: preparePython,
  faults: checkFaults,
  jest: runJest,
  schemathesis: tryDescription,
  'packed-install': checkPackedInstall,
};

/** Lanes run side by side, the steps of a lane one after the other. What fails in seconds comes before what takes minutes. */
export const LANES = [
  ['packages', 'build', 'binding-types'],
  ['build-tests', 'clippy', 'cargo-test', 'models'],
  [
    ...['cargo-fmt', 'prettier', 'tsc', 'eslint', 'openapi', 'workflows', 'notices', 'python'],
    ...['faults', 'jest', 'schemathesis', 'packed-install'],
  ],
];

/** What a step needs from other lanes. */
export const NEEDS = {
  prettier: ['packages'],
  tsc: ['packages'],
  eslint: ['packages'],
  openapi: ['packages'],
  faults: ['build', 'build-tests'],
  notices: ['packages'],
  jest: ['build', 'binding-types', 'build-tests'],
  'packed-install': ['build'],
};

/** Files that were found well formatted, and have the same content now, are not read again. */
async function checkFormat() {
  const cache = ['--cache', '--cache-strategy', 'content', '--cache-location', join(built, 'prettier')];
  await node('prettier', 'prettier/bin/prettier.cjs', '--check', ...cache, '.');
}

/** The server with its tests, and what runs in browsers. What has not changed since the last check is not checked again. */
async function checkTypes() {
  for (const [name, project] of Object.entries({ tsc: '.', 'tsc-console': 'src/console/app' })) {
    const cache = ['--incremental', '--tsBuildInfoFile', join(built, `${name}.tsbuildinfo`)];
    await node(name, 'typescript/bin/tsc', '--noEmit', '--project', join(project, 'tsconfig.json'), ...cache);
  }
}

/** Folders and files that decide which types a source has. */
const TYPED = ['src', 'test', 'bench', 'tsconfig.json', 'package-lock.json'];

/**
 * Files that were found right, and have the same content now, are not read again. Rules look at imported types too, which
 * eslint's cache does not know, so it is kept only while all files that can be imported are the same: nothing imports a
 * `*.test.ts`.
 */
async function lint() {
  const cache = join(built, 'eslint');
  const digest = fingerprint(TYPED, (name) => /\.tsx?$|^[^/]*json$/.test(name) && !name.endsWith('.test.ts'));
  if (!isCurrent('eslint', digest)) rmSync(cache, { force: true });
  remember('eslint', digest);
  const cached = ['--cache', '--cache-strategy', 'content', '--cache-location', cache];
  await node('eslint', 'eslint/bin/eslint.js', '.', '--max-warnings', '0', ...cached);
}

async function node(name, script, ...args) {
  await mustRun(name, process.execPath, [join(root, 'node_modules', script), ...args]);
}

async function cargo(name, ...args) {
  await mustRun(`cargo-${name}`, 'cargo', [name, ...args], {
    env: { CARGO_TERM_COLOR: 'never' },
  });
}

/** Once as tests see the crates, and once the product, which lacks the features of the tests. */
async function runClippy() {
  await cargo('clippy', '--workspace', '--all-targets', '--locked', '--', '-D', 'warnings');
  await cargo('clippy', '--package', 'kithdb-node', '--locked', '--', '-D', 'warnings');
}

/** The types that TypeScript compiles against must be those that the addon exports. */
function checkBindingTypes() {
  if (bindingTypesAreCurrent()) return;
  throw new BuildError(
    'src/engine/binding.d.ts is not what the addon exports now: run `npm run build` and commit the file.',
  );
}

/** Few cases, the same each time; `npm run test:long` tries many, and others each time. */
function tryDescription() {
  return runSchemathesis({ maxExamples: 4, seed: 1, phases: ['examples', 'fuzzing'] });
}
