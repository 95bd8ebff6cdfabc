/** `npm run build:cross -- --out DIR [PLATFORM …]`: engines that load on old and other Linux systems. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installPackages } from './build/packages.mjs';
import { BuildError, say } from './build/process.mjs';
import { buildCross, crossPlatforms } from './package/cross.mjs';

const USAGE = `npm run build:cross -- --out DIR [PLATFORM …]

  --out DIR   where the addons are written
  PLATFORM    ${crossPlatforms.map(({ name }) => name).join(', ')}; default: all of these

Needs Rust through rustup, and python3 with venv, whose pip installs the linker (zig).`;

try {
  const { values, positionals } = readArguments();
  if (values.help) console.log(USAGE);
  else await buildAll(resolve(process.env.INIT_CWD ?? '.', values.out), positionals);
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}

async function buildAll(folder, names) {
  await installPackages();
  const chosen =
    names.length === 0 ? crossPlatforms : crossPlatforms.filter(({ name }) => names.includes(name));
  for (const platform of chosen) console.log(await buildCross(platform, folder));
}

function readArguments() {
  try {
    const options = { out: { type: 'string' }, help: { type: 'boolean', short: 'h' } };
    const given = parseArgs({ allowPositionals: true, options });
    const unknown = given.positionals.filter((name) => !crossPlatforms.some((known) => known.name === name));
    if (unknown.length > 0) throw new Error(`No such platform: ${unknown.join(', ')}`);
    if (!given.values.help && given.values.out === undefined) throw new Error('--out DIR is missing');
    return given;
  } catch (error) {
    throw new BuildError(`${error.message}\n\n${USAGE}`);
  }
}
