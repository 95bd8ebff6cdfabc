/** `npm run pack -- --out DIR`: the tarballs of kithdb and of engines. */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildEverything, buildWithoutEngine } from './build/everything.mjs';
import { BuildError, say } from './build/process.mjs';
import { root } from './build/tree.mjs';
import { requireFloor } from './package/cross.mjs';
import { glibcOf, needsOf } from './package/elf.mjs';
import { GLIBC_FLOOR, ownPlatform, platforms } from './package/platforms.mjs';
import { enginesIn, packAll } from './package/tarballs.mjs';

const USAGE = `npm run pack -- --out DIR [--engines DIR] [--release]

  --out DIR      where the tarballs are written; those of these packages in other versions are removed
  --engines DIR  packs the engines of this folder (kithdb.PLATFORM.node), which npm run build:cross
                 and the workflows write; default: that of this platform, built here
  --release      for a registry: all engines must be in --engines, be as portable as their packages
                 promise, and become optional dependencies of kithdb

Without --release no package names one that a registry would have to have: install the tarballs together.`;

try {
  const request = readArguments();
  if (request === undefined) console.log(USAGE);
  else await packRequested(request);
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}

async function packRequested({ out, folder, isRelease }) {
  const engines = folder === undefined ? [await ownEngine()] : await givenEngines(folder);
  if (isRelease) requireAll(engines);
  const packing = await packAll({ out, engines, namesEngines: isRelease });
  const { kithdb, engines: packed, optional, removed } = packing;
  if (removed.length > 0) say(`Removed from ${out}, of another version: ${removed.join(', ')}`);
  for (const { file, bytes } of [kithdb, ...packed, ...optional])
    console.log(`${file}  ${(bytes / 1024 / 1024).toFixed(1)} MB`);
  if (isRelease) return;
  console.log(
    `\nInstall both in one command: npm install ${[kithdb, packed[0]].map(({ file }) => file).join(' ')}\nBeside them, for who needs it (--ignore-scripts): ${optional.map(({ file }) => file).join(' ')}`,
  );
}

/** The engine that was built here, or that KITHDB_ENGINE_PACKAGE brought. */
async function ownEngine() {
  await buildEverything();
  const platform = ownPlatform();
  const [engine] = enginesIn(join(root, 'native'), platform === undefined ? [] : [platform]);
  if (engine === undefined)
    throw new BuildError(`There is no package for engines of ${process.platform}-${process.arch}.`);
  const [major, minor] = platform.libc === 'gnu' ? (glibcOf(needsOf(engine.addon)) ?? [0, 0]) : [0, 0];
  if (major > GLIBC_FLOOR[0] || minor > GLIBC_FLOOR[1])
    say(
      `This engine needs glibc ${major}.${minor} or newer. npm run build:cross builds one for glibc ${GLIBC_FLOOR.join('.')}.`,
    );
  return engine;
}

async function givenEngines(folder) {
  await buildWithoutEngine();
  const engines = enginesIn(folder, platforms);
  if (engines.length === 0) throw new BuildError(`${folder} has no engine (kithdb.PLATFORM.node).`);
  return engines;
}

function requireAll(engines) {
  const missing = platforms.filter(({ name }) => !engines.some(({ platform }) => platform.name === name));
  if (missing.length > 0)
    throw new BuildError(`--release: no engine for ${missing.map(({ name }) => name).join(', ')}`);
  for (const { platform, addon } of engines) if (platform.system === 'linux') requireFloor(platform, addon);
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        out: { type: 'string' },
        engines: { type: 'string' },
        release: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) return undefined;
    if (values.out === undefined) throw new Error('--out DIR is missing');
    if (values.release && values.engines === undefined) throw new Error('--release needs --engines DIR');
    const from = process.env.INIT_CWD ?? '.';
    const folder = values.engines === undefined ? undefined : resolve(from, values.engines);
    return { out: resolve(from, values.out), folder, isRelease: values.release };
  } catch (error) {
    throw new BuildError(`${error.message}\n\n${USAGE}`);
  }
}
