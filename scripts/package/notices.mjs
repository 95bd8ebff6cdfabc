/**
 * THIRD-PARTY-NOTICES: what others wrote of what the product contains or loads, with the texts of their licences. One file
 * for each package: `kithdb` has that of the npm packages, an engine that of the crates that are linked into it. The same on
 * every machine: they depend on the lock files alone.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BuildError, output } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { platforms } from './platforms.mjs';

/** The crates of this workspace that users get compiled: the addon, and the health check of the image. */
const PROGRAMS = ['kithdb-node', 'kithdb-health'];
const LICENSE_FILE = /^(?:un)?(?:licen[cs]e|copying|copyright|notice)/i;
const RULE = '='.repeat(80);

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string} version
 * @property {string} license SPDX expression
 * @property {string} [folder] where its licence is; none where it brings none
 */

/** The sources of the console, whose build puts the packages that they import into its files, with what these need. */
const CONSOLE = join(root, 'src', 'console', 'app');
/** An import that is no type and no file beside it; of a package's part, such as `preact/hooks`, the package's name. */
const IMPORT =
  /(?:^import (?!type\b)[^;]*?from |\bimport\()'((?:@[\w.-]+\/)?[\w-]+(?:\.[\w-]+)*)(?:\/[^']*)?'/gm;

const FILES = [
  {
    path: join(root, 'THIRD-PARTY-NOTICES'),
    introduction: `KithDB contains or loads the following npm packages of others, under the licences below. KithDB itself is under the
Apache License 2.0, see LICENSE. The engine has a file of its own for the crates that are linked into it: in its package, and
crates/node/THIRD-PARTY-NOTICES. This file is made from the lock file by \`npm run notices\`. The source code of each package
is at https://www.npmjs.com/package/NAME/v/VERSION.`,
    sections: [
      ['In the files of the server, or loaded by it', () => packages((name) => !ofSqlite3().has(name))],
      ['In the files of the web console', bundledPackages],
      [
        'With sqlite3, which the container image has and the npm package leaves to its user',
        () => packages((name) => ofSqlite3().has(name)),
      ],
    ],
  },
  {
    path: join(root, 'crates', 'node', 'THIRD-PARTY-NOTICES'),
    introduction: `The engine of KithDB contains the following crates of others, under the licences below. KithDB itself is under the Apache
License 2.0, see LICENSE. This file is made from the lock file by \`npm run notices\`. The source code of each crate is at
https://crates.io/crates/NAME/VERSION.`,
    sections: [
      ['Linked into the engine, beside the standard library of Rust (MIT OR Apache-2.0)', linkedCrates],
    ],
  },
];

/** @returns {Promise<{path: string, text: string}[]>} the files, and what each must hold now */
export async function notices() {
  const files = [];
  for (const { path, introduction, sections } of FILES) {
    const [lists, all] = [[], []];
    for (const [title, read] of sections) {
      const parts = (await read()).sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
      lists.push(`${title}:\n\n${[...new Set(parts.map(line))].join('\n')}`);
      all.push(...parts);
    }
    files.push({ path, text: `${[introduction, ...lists, ...texts(all)].join('\n\n')}\n` });
  }
  return files;
}

function compare(a, b) {
  return a < b ? -1 : Number(a > b);
}

function line({ name, version, license }) {
  return `  ${name} ${version}  ${license}`;
}

/** Each text once, below the names of all that it belongs to. */
function texts(parts) {
  const owners = new Map();
  for (const part of parts) {
    const found = licenceTexts(part);
    if (found.length === 0) found.push(`No text comes with it; its manifest says: ${part.license}`);
    for (const text of found) {
      if (!owners.has(text)) owners.set(text, new Set());
      owners.get(text).add(`${part.name} ${part.version}`);
    }
  }
  return [...owners].map(([text, names]) => `${RULE}\n${[...names].join(', ')}\n${RULE}\n\n${text}`);
}

/**
 * The licence texts of a part. Where MIT is one of alternative licences, MIT's text alone: one of them is enough.
 */
function licenceTexts({ folder, license }) {
  if (folder === undefined) return [];
  const files = readdirSync(folder, { withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && LICENSE_FILE.test(entry.name) && !/\.(?:rs|js|json)$/.test(entry.name),
    )
    .map(({ name }) => name)
    .sort();
  const isMit = (name) => /mit/i.test(name);
  const chosen =
    /\bMIT\b/.test(license) && / OR |\//.test(license) && files.some(isMit) ? files.filter(isMit) : files;
  return chosen.map((name) =>
    readFileSync(join(folder, name), 'utf8')
      .replaceAll(/[ \t\r]+$/gm, '')
      .trim(),
  );
}

/** @returns {Promise<Part[]>} of all platforms; neither build scripts nor macros are part of the engine */
async function linkedCrates() {
  const found = new Map();
  for (const { triple } of platforms) {
    for (const crate of await cratesOf(triple)) found.set(crate.id, crate);
  }
  return [...found.values()].map(({ name, version, license, manifest_path }) => ({
    name,
    version,
    license: license ?? 'see its text',
    folder: dirname(manifest_path),
  }));
}

async function cratesOf(triple) {
  const answer = await output('cargo', [
    'metadata',
    '--format-version',
    '1',
    '--locked',
    '--filter-platform',
    triple,
  ]);
  if (answer === null) throw new BuildError('cargo metadata failed: the crates of the engine are not known.');
  const { packages, resolve } = JSON.parse(answer);
  const byId = new Map(packages.map((crate) => [crate.id, crate]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const isMacro = (id) => byId.get(id).targets.some(({ kind }) => kind.includes('proc-macro'));
  const linked = new Set();
  const waiting = packages.filter(({ name }) => PROGRAMS.includes(name)).map(({ id }) => id);
  for (let id; (id = waiting.pop()) !== undefined;) {
    if (linked.has(id) || isMacro(id)) continue;
    linked.add(id);
    const normal = nodes.get(id).deps.filter(({ dep_kinds }) => dep_kinds.some(({ kind }) => kind === null));
    waiting.push(...normal.map(({ pkg }) => pkg));
  }
  // Those of this workspace are KithDB.
  return [...linked].map((id) => byId.get(id)).filter(({ source }) => source !== null);
}

/** @returns {Part[]} the packages of the lock file that are not for development alone */
function packages(isWanted) {
  const locked = lockedPackages();
  return Object.entries(locked)
    .filter(([path, entry]) => path !== '' && !entry.dev && isWanted(path))
    .map(([path, entry]) => ({
      name: nameOf(path),
      version: entry.version,
      license: entry.license ?? 'see its text',
      folder: folderOf(path, entry, locked),
    }));
}

/** @returns {Part[]} */
function bundledPackages() {
  const locked = lockedPackages();
  return [...reachable(locked, importedByConsole())].map((path) => ({
    name: nameOf(path),
    version: locked[path].version,
    license: locked[path].license ?? 'see its text',
    folder: folderOf(path, locked[path], locked),
  }));
}

/** @returns {string[]} */
function importedByConsole() {
  const files = readdirSync(CONSOLE, { recursive: true }).filter((file) => /\.tsx?$/.test(file));
  const texts = files.map((file) => readFileSync(join(CONSOLE, file), 'utf8'));
  const names = texts.flatMap((text) => [...text.matchAll(IMPORT)].map(([, name]) => name));
  return [...new Set(names)].sort();
}

function lockedPackages() {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** A package for one platform is not on every machine: the text is that of the package that it belongs to. */
function folderOf(path, entry, locked) {
  const owner =
    entry.os === undefined
      ? path
      : Object.keys(locked).find((other) => other !== '' && path.startsWith(`${other}-`));
  if (owner === undefined || !existsSync(join(root, owner))) {
    if (entry.optional) return undefined;
    throw new BuildError(`${path} is not installed, and its licence is not known: npm ci installs it.`);
  }
  return join(root, owner);
}

/** The packages that only sqlite3 brings, by their paths in the lock file. */
function ofSqlite3() {
  const locked = lockedPackages();
  const without = reachable(
    locked,
    Object.keys(locked[''].dependencies).filter((name) => name !== 'sqlite3'),
  );
  return new Set([...reachable(locked, ['sqlite3'])].filter((path) => !without.has(path)));
}

/** What packages need, as Node finds it: beside them, or in a folder above. */
function reachable(locked, names) {
  const found = new Set();
  const waiting = names.map((name) => `node_modules/${name}`);
  for (let path; (path = waiting.pop()) !== undefined;) {
    if (found.has(path)) continue;
    found.add(path);
    const { dependencies = {}, optionalDependencies = {} } = locked[path];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const at = resolveFrom(path, name, locked);
      if (at !== undefined) waiting.push(at);
    }
  }
  return found;
}

function resolveFrom(path, name, locked) {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    const at = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (at in locked) return at;
    if (folder === '') return undefined;
  }
}
