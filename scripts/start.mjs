/** `npm start [-- flags]`: builds what is out of date, then serves with the given flags. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { buildEverything } from './build/everything.mjs';
import { BuildError, say } from './build/process.mjs';
import { root } from './build/tree.mjs';
import { compiled } from './build/typescript.mjs';
import { pathsFrom } from './caller-paths.mjs';

try {
  await buildEverything();
  // It is for the build; a server refuses variables that are no settings of its own.
  delete process.env.KITHDB_ENGINE_PACKAGE;
  const { isPathFlag } = createRequire(import.meta.url)(join(compiled, 'config', 'index.js'));
  const folder = process.env.INIT_CWD ?? process.cwd();
  if (process.stderr.isTTY) {
    say(
      'Next: npm run example in a second terminal, which loads data. The console is at http://HOST:PORT/console.',
    );
  }
  process.exitCode = await serve(pathsFrom(process.argv.slice(2), folder, isPathFlag));
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}

/** Runs the server until it ends, and resolves with its exit code. */
function serve(flags) {
  const server = spawn(process.execPath, [join(root, 'bin', 'kithdb.js'), ...flags], { stdio: 'inherit' });
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
