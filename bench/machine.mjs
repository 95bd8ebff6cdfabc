/** The origin of a result: processor, load, commit, date and command. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { basename } from 'node:path';
import { root } from '../scripts/build/tree.mjs';

/** Read when the benchmark starts, so that its own work is not counted. */
const loadBefore = loadavg()[0];

/** The widest vector instructions that a kernel can use, the best first: name, and the flag of `/proc/cpuinfo`. */
const VECTOR_INSTRUCTIONS = [
  ['AVX-512 VNNI', 'avx512_vnni'],
  ['AVX-512', 'avx512f'],
  ['AVX2', 'avx2'],
  ['NEON dot product', 'asimddp'],
  ['NEON', 'asimd'],
];

/** Flags whose values are paths of this machine; a result has only their last part. */
const PATH_FLAGS = [
  '--data',
  '--out',
  '--picture',
  '--folder',
  '--before',
  '--tree',
  '--against',
  '--packages',
  '--keep',
];

/** Processes that ran or waited before the benchmark started, as a mean over a minute. */
export function load() {
  return loadBefore;
}

/**
 * @param {string} script as `npm run` knows the benchmark
 * @returns {object} what a file in `bench/results` says of its origin
 */
export function machine(script) {
  const commit = output('git', 'rev-parse', '--short', 'HEAD');
  const changed = output('git', 'status', '--porcelain', '--untracked-files=no');
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    vector_instructions: vectorInstructions(),
    cores: cpus().length,
    load_before: loadBefore,
    versions: { node: process.version, rustc: output('rustc', '--version') },
    commit: commit && changed ? `${commit}, with changes` : commit,
    date: new Date().toISOString(),
    command: `npm run ${script} -- ${withoutPaths(process.argv.slice(2)).join(' ')}`,
  };
}

/**
 * @param {string[]} args of a command line
 * @returns {string[]} the same without the folders of this machine
 */
export function withoutPaths(args) {
  return args.map((arg, at) => {
    if (PATH_FLAGS.includes(args[at - 1]))
      return arg
        .split(',')
        .map((path) => basename(path))
        .join();
    const [name, value] = arg.split(/=(.*)/s);
    return PATH_FLAGS.includes(name) && value ? `${name}=${basename(value)}` : arg;
  });
}

function vectorInstructions() {
  try {
    const flags = new Set(
      /^(?:flags|Features)\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))[1].split(' '),
    );
    return VECTOR_INSTRUCTIONS.find(([, flag]) => flags.has(flag))?.[0] ?? null;
  } catch {
    return null;
  }
}

function output(command, ...args) {
  try {
    return execFileSync(command, args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}
