/** The tarballs of `kithdb` and of engines, as a registry gets them. Staged in `.build/package`, and packed from there. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, npm, output } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { OPTIONAL_PACKAGES, optionalManifest, publishedManifest } from './manifest.mjs';
import { addonOf, packageOf } from './platforms.mjs';

/** @typedef {{name: string, version: string, file: string, bytes: number, unpackedBytes: number, contents: string[]}} Tarball */

/** A larger package holds something that does not belong to it, such as a data set or a debug build. */
const MAX_PACKED_BYTES = 10 * 1024 * 1024;

/**
 * @param {object} request
 * @param {string} request.out folder that gets the tarballs
 * @param {{platform: import('./platforms.mjs').Platform, addon: string}[]} request.engines with the paths of their addons
 * @param {boolean} request.namesEngines whether kithdb names these engines as optional dependencies: a package manager
 *   then asks a registry for them
 * @param {string} [request.stage] the folder to work in; two calls must not share one
 * @returns {Promise<{kithdb: Tarball, engines: Tarball[], optional: Tarball[], removed: string[]}>} the optional ones in
 *   the order of their table; `removed` are names of tarballs of other versions
 */
export async function packAll({ out, engines, namesEngines, stage = join(root, '.build', 'package') }) {
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const removed = removeOtherVersions(out, version);
  stageKithdb(stage);
  await stageEngines(stage, engines);
  if (namesEngines) await napi(stage, 'pre-publish', '--skip-optional-publish', '--no-gh-release');
  const kithdb = await pack(stage, out);
  const optional = [];
  for (const one of OPTIONAL_PACKAGES) optional.push(await pack(stageOptional(stage, one), out));
  const packed = [];
  for (const { platform } of engines) packed.push(await pack(join(stage, 'npm', platform.name), out));
  return { kithdb, engines: packed, optional, removed };
}

/**
 * Removes tarballs of these packages in other versions: a pattern that installs what was packed would match them too.
 *
 * @param {string} folder
 * @param {string} version that is kept
 * @returns {string[]} the names of what was removed
 */
export function removeOtherVersions(folder, version) {
  const optional = OPTIONAL_PACKAGES.map(({ name }) => `-${name.split('/')[1]}`);
  const own = new RegExp(
    `^kithdb(?:-engine-[a-z][a-z0-9-]*?${optional.map((name) => `|${name}`).join('')})?-(\\d.*)\\.tgz$`,
  );
  const removed = readdirSync(folder).filter((file) => (own.exec(file)?.[1] ?? version) !== version);
  for (const file of removed) rmSync(join(folder, file));
  return removed;
}

/** What `files` of package.json lists. The folders of engines beside it are not listed, and so not packed with it. */
function stageKithdb(folder) {
  mkdirSync(folder, { recursive: true });
  const tree = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const path of tree.files) {
    if (!existsSync(join(root, path))) throw new BuildError(`${path} is to be packed and is not there.`);
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  for (const { folder: sources } of OPTIONAL_PACKAGES)
    rmSync(join(folder, 'dist', sources), { recursive: true, force: true });
  writeJson(join(folder, 'package.json'), publishedManifest(tree));
}

/** A package of its own, beside kithdb's. */
function stageOptional(stage, optional) {
  const folder = join(stage, optional.folder);
  mkdirSync(folder);
  const tree = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  cpSync(join(root, 'dist', optional.folder), join(folder, 'dist'), {
    recursive: true,
    // The types of what is bundled need those of modules of kithdb.
    filter: (path) => !optional.isBundled || !path.endsWith('.d.ts'),
  });
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeJson(join(folder, 'package.json'), optionalManifest(optional, tree));
  writeFileSync(join(folder, 'README.md'), `# ${optional.name}\n\n${optional.readme}\n`);
  return folder;
}

async function stageEngines(stage, engines) {
  const tree = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeJson(join(stage, 'napi.json'), {
    ...tree.napi,
    targets: engines.map(({ platform }) => platform.triple),
  });
  mkdirSync(join(stage, 'addons'));
  for (const { platform, addon } of engines) copyFileSync(addon, join(stage, 'addons', addonOf(platform)));
  await napi(stage, 'create-npm-dirs');
  await napi(stage, 'artifacts', '--output-dir', 'addons');
  for (const { platform } of engines) completeEngine(join(stage, 'npm', platform.name), platform);
}

/** The package of an engine as napi makes it, with licences, and a page that says what it is for. */
function completeEngine(folder, platform) {
  const path = join(folder, 'package.json');
  // npm leaves out an optional package whose `engines` does not fit, without a word. kithdb itself says which Node it needs.
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  delete manifest.engines;
  const description = `The engine of kithdb for ${platform.name}`;
  writeJson(path, { ...manifest, description, files: [...manifest.files, 'THIRD-PARTY-NOTICES'] });
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  copyFileSync(join(root, 'crates', 'node', 'THIRD-PARTY-NOTICES'), join(folder, 'THIRD-PARTY-NOTICES'));
  writeFileSync(
    join(folder, 'README.md'),
    `# ${packageOf(platform)}\n\n${description}. It is installed with kithdb, and is of no use without it.\n`,
  );
}

async function napi(stage, ...args) {
  const [name] = args;
  await mustRun(`napi-${name}`, process.execPath, [
    join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js'),
    ...args,
    ...['--cwd', stage, '--config-path', 'napi.json', '--npm-dir', 'npm'],
  ]);
}

/** @returns {Promise<Tarball>} */
async function pack(folder, out) {
  const [command, leading] = npm();
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out];
  const answer = await output(command, [...leading, ...args], { cwd: folder });
  if (answer === null) throw new BuildError(`npm pack failed in ${folder}.`);
  const [packed] = Object.values(JSON.parse(answer));
  const { name, version, filename, size, unpackedSize, files } = packed;
  if (size > MAX_PACKED_BYTES)
    throw new BuildError(`${filename} has ${size} bytes, limit ${MAX_PACKED_BYTES}.`);
  return {
    name,
    version,
    file: join(out, filename),
    bytes: size,
    unpackedBytes: unpackedSize,
    contents: files.map(({ path }) => path).sort(),
  };
}

/** The addons of a folder, by the platforms that they are for. */
export function enginesIn(folder, platforms) {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  return platforms
    .filter((platform) => files.includes(addonOf(platform)))
    .map((platform) => ({ platform, addon: join(folder, addonOf(platform)) }));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
