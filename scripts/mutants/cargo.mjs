/** What cargo does for mutants: it lists them, checks what compiles, and builds the test programs. */
import { join } from 'node:path';
import { BuildError, output } from '../build/process.mjs';
import { attempt } from './attempt.mjs';
import { cargoMutants, folder } from './tree.mjs';

export const PACKAGE = 'kithdb-engine';
export const SOURCES = 'crates/engine/src';

/** What only tests have, and the tests themselves. */
const LEFT_OUT = ['**/tests/**', '**/tests.rs', '**/sim/**', '**/crash_points.rs', '**/wal/fuzzing.rs'];

/** Compiles fast, and only what changed; what has no mutants stays fast. */
const PROFILE = [
  'profile.mutants.inherits="dev"',
  'profile.mutants.opt-level=1',
  'profile.mutants.debug=false',
  'profile.mutants.incremental=true',
  'profile.mutants.package.kithdb-kernels.opt-level=3',
  'profile.mutants.package."*".opt-level=2',
].flatMap((line) => ['--config', line]);

const BUILD_LIMIT_SECONDS = 3600;

/** All mutants of folders of the engine. */
export async function listMutants(path, folders) {
  const args = ['mutants', '--list', '--json', '--no-config', '--dir', path, '--package', PACKAGE];
  for (const name of folders) args.push('--file', `${SOURCES}/${name}/**`);
  for (const pattern of LEFT_OUT) args.push('--exclude', pattern);
  const text = await output(await cargoMutants(), args, { cwd: path });
  if (text === null) throw new BuildError('cargo-mutants does not list mutants.');
  return JSON.parse(text).map(({ file, name, replacement, span, function: within }) => ({
    ...{ file, line: span.start.line, endLine: span.end.line, column: span.start.column },
    ...{ mutant: name.replace(/^\S+ /, ''), replacement, span, functionSpan: within?.span },
  }));
}

/**
 * The compiler's errors in the engine and its tests, without making programs.
 *
 * @returns {Promise<{file: string, firstLine: number, lastLine: number, message: string}[]>}
 */
export async function checkErrors(path, targets) {
  const { passed, text } = await cargo(path, 'check', targets);
  const errors = messagesOf(text)
    .filter(({ reason, message }) => reason === 'compiler-message' && message.level === 'error')
    .flatMap(({ message }) =>
      message.spans
        .filter((span) => span.is_primary)
        .map((span) => ({
          file: span.file_name.replaceAll('\\', '/'),
          ...{ firstLine: span.line_start, lastLine: span.line_end, message: message.message },
        })),
    );
  if (!passed && errors.length === 0) throw new BuildError(`cargo check fails.\n${text.slice(-4000)}`);
  return errors;
}

/**
 * Compiles test programs: their paths by name, `lib` for the unit tests. Undefined where the compiler refuses the engine.
 *
 * @param {string[]} targets `--lib`, or `--test` and a name, each
 * @returns {Promise<{programs?: Map<string, string>, seconds: number}>}
 */
export async function buildPrograms(path, targets) {
  const { passed, text, seconds } = await cargo(path, 'test', [...targets, '--no-run']);
  if (!passed) {
    if (text.includes(`could not compile \`${PACKAGE}\``)) return { seconds };
    throw new BuildError(`The tests cannot be compiled.\n${text.slice(-4000)}`);
  }
  const programs = new Map();
  for (const { executable, target } of messagesOf(text)) {
    if (executable) programs.set(target.kind.includes('test') ? target.name : 'lib', executable);
  }
  return { programs, seconds };
}

function cargo(path, command, args) {
  const common = ['--profile', 'mutants', '--package', PACKAGE, '--locked', '--message-format=json'];
  return attempt('cargo', [command, ...PROFILE, ...common, ...args], {
    cwd: path,
    env: { CARGO_TARGET_DIR: join(folder, 'target'), CARGO_TERM_COLOR: 'never', RUSTFLAGS: '-Awarnings' },
    limitSeconds: BUILD_LIMIT_SECONDS,
  });
}

/** The lines of cargo that are JSON. */
function messagesOf(text) {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line));
}
