/** `npm start [-- flags]`: builds what is out of date, then serves with the given flags. */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { bundleCommandLine } from './build/bundle.mjs';
import { buildEverything } from './build/everything.mjs';
import { BuildError, say } from './build/process.mjs';
import { root } from './build/tree.mjs';
import { compiled } from './build/typescript.mjs';
import { pathsFrom } from './caller-paths.mjs';

const require = createRequire(import.meta.url);

/** Ends a start whose flags were answered or refused before the build. */
class Answered extends Error {
  constructor(exitCode) {
    super();
    this.exitCode = exitCode;
  }
}

try {
  await buildEverything({ beforeCompiling: answerAhead });
  if (process.stderr.isTTY) {
    say(
      'Next: npm run example in a second terminal, which loads data. The console is at http://HOST:PORT/console.',
    );
  }
  process.exitCode = await serve(flagsFrom(require(join(compiled, 'config', 'index.js'))));
} catch (error) {
  if (error instanceof Answered) {
    process.exitCode = error.exitCode;
  } else if (error instanceof BuildError) {
    say(error.message);
    process.exitCode = 1;
  } else {
    throw error;
  }
}

/** Answers `--help` and refuses wrong flags and settings before a build that takes minutes. */
async function answerAhead() {
  const folder = join(root, '.build', 'command-line');
  rmSync(folder, { recursive: true, force: true });
  await bundleCommandLine(folder);
  const commandLine = require(join(folder, 'main.js'));
  const exitCode = commandLine.answered(flagsFrom(commandLine), serverEnvironment());
  if (exitCode !== undefined) throw new Answered(exitCode);
}

/** The environment of the server, which refuses variables that are no settings of its own: without that of the build. */
function serverEnvironment() {
  const environment = { ...process.env };
  delete environment.KITHDB_ENGINE_PACKAGE;
  return environment;
}

/** The flags of this command, with paths from where the caller is. */
function flagsFrom({ isPathFlag }) {
  return pathsFrom(process.argv.slice(2), process.env.INIT_CWD ?? process.cwd(), isPathFlag);
}

/** Runs the server until it ends, and resolves with its exit code. */
function serve(flags) {
  const launcher = join(root, 'bin', 'kithdb.js');
  const server = spawn(process.execPath, [launcher, ...flags], {
    stdio: 'inherit',
    env: serverEnvironment(),
  });
  // Ctrl-C reaches the server from the terminal itself, and npm sends a copy of it here. Forwarding that copy
  // would be the second signal, which ends a graceful stop at once.
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) server.kill('SIGINT');
  });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => server.kill(signal));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}
