/**
 * `npm run docs`: builds the documentation site into `.build/site`, and checks the links of its pages. `npm run docs:dev`
 * serves it instead, at an address that it prints, and shows changes of pages at once. The packages of the site are in
 * `site/`: they are installed when they are first needed, and a build afterwards needs no network.
 */
import { spawn } from 'node:child_process';
import { buildSite, preparePages } from './docs/build.mjs';
import { BuildError, say } from './build/process.mjs';
import { vitepress } from './docs/packages.mjs';

const [mode = 'build', ...rest] = process.argv.slice(2);
try {
  if (mode === 'dev') await serve(rest);
  else if (mode === 'build' && rest.length === 0) say(await buildSite());
  else
    throw new BuildError('npm run docs takes no arguments; npm run docs:dev takes those of vitepress dev.');
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}

async function serve(args) {
  await preparePages();
  const [command, leading] = vitepress();
  const server = spawn(command, [...leading, 'dev', 'site', ...args], { stdio: 'inherit' });
  process.on('SIGINT', () => {});
  process.exitCode = await new Promise((resolve) => server.once('close', (code) => resolve(code ?? 0)));
}
