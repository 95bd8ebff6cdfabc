/**
 * What a user gets: the tarballs of `npm run pack`, installed together into an empty folder without Rust, a compiler or
 * install scripts, must be small and serve. From a registry, and on other platforms: see the suites of test:long.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeEnginePackage } from '../build/engine-package.mjs';
import { BuildError, mustRun, npm } from '../build/process.mjs';
import { hasNodeSqlite } from '../build/sqlite3.mjs';
import { root } from '../build/tree.mjs';
import { glibcOf, needsOf } from '../package/elf.mjs';
import { addSqlite3, bareEnvironment, requireSmall, serveOnce } from '../package/installation.mjs';
import { addonOf, ownPlatform, platforms } from '../package/platforms.mjs';
import { enginesIn, packAll } from '../package/tarballs.mjs';

/** What the package of the product may hold; what is not needed to run it is in the repository. */
const EXPECTED =
  /^(?:bin\/kithdb\.js|dist\/.+\.(?:js|d\.ts)|dist\/openapi\.json|dist\/console\/app\/[\w.-]+\.(?:css|html|js|svg)(?:\.br|\.gz)?|LICENSE|README\.md|THIRD-PARTY-NOTICES|package\.json)$/;

/** @returns {Promise<string>} the sizes, for the step's line */
export async function checkPackedInstall() {
  const platform = ownPlatform();
  if (platform === undefined) return `skipped: there is no package for ${process.platform}-${process.arch}`;
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-packed-'));
  try {
    const { kithdb, engines, optional } = await packAll({
      out: join(folder, 'tarballs'),
      engines: enginesIn(join(root, 'native'), [platform]),
      namesEngines: false,
    });
    requireContents(kithdb, engines[0], platform);
    await requireEnginePackage(kithdb, engines[0], platform, join(folder, 'native'));
    const installed = join(folder, 'installed');
    const bytes = await install(installed, [kithdb.file, engines[0].file]);
    requireExports(installed, kithdb);
    requireOptional(installed, optional);
    await requireServing(installed);
    await requireMcp(installed, named(optional, '@kithdb/mcp').file);
    await requireCluster(installed, named(optional, '@kithdb/cluster').file);
    const packed = kithdb.bytes + engines[0].bytes;
    return `${(packed / 1e6).toFixed(1)} MB packed, ${(bytes / 1e6).toFixed(1)} MB installed`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Nothing that is not needed at run time. */
function requireContents(kithdb, engine, { name }) {
  const extra = kithdb.contents.filter((path) => !EXPECTED.test(path));
  if (extra.length > 0) throw new BuildError(`The package has ${extra.join(', ')}.`);
  const expected = ['LICENSE', 'README.md', 'THIRD-PARTY-NOTICES', `kithdb.${name}.node`, 'package.json'];
  if (engine.contents.join() !== expected.join())
    throw new BuildError(`The engine's package has ${engine.contents.join(', ')}.`);
}

/** KITHDB_ENGINE_PACKAGE takes the package of this platform, and no other. */
async function requireEnginePackage(kithdb, engine, platform, folder) {
  await takeEnginePackage(engine.file, folder);
  const [taken, built] = [folder, join(root, 'native')].map((place) => join(place, addonOf(platform)));
  if (!readFileSync(taken).equals(readFileSync(built))) throw new BuildError('The engine taken is another.');
  const refusal = await takeEnginePackage(kithdb.file, folder).catch((error) => error);
  if (!/is kithdb \S+, and this needs @kithdb\/engine-/.test(refusal?.message))
    throw new BuildError(`A package of another name was taken: ${refusal?.message}`);
  if (platform.system !== 'linux') return;
  const needs = needsOf(taken);
  const runtime = process.report.getReport().header.glibcVersionRuntime?.split('.').map(Number);
  const [major, minor] = glibcOf(needs) ?? [0, 0];
  const fits = runtime === undefined ? major === 0 : major === runtime[0] && minor <= runtime[1];
  if (needs.machine !== platform.cpu || !fits)
    throw new BuildError(`What the engine needs was not read: ${JSON.stringify(needs)}`);
}

function named(packages, wanted) {
  return packages.find(({ name }) => name === wanted);
}

/** What is a package of its own is not in kithdb, which says how to get it. */
function requireOptional(installed, optional) {
  for (const { name, contents } of optional) {
    const isExpected = (path) => /^(?:dist\/|[A-Z])|^package\.json$/.test(path);
    if (!contents.includes('dist/index.js') || !contents.every(isExpected))
      throw new BuildError(`The package ${name} has ${contents.join(', ')}.`);
  }
  const [mcp, models, cluster] = [
    run(installed, ['mcp', '--data-dir', installed]),
    run(installed, [
      ...['--port', '0', '--data-dir', join(installed, 'none')],
      // No store of authentication comes with the package.
      ...['--token-store', 'memory', '--models', MODEL_IN_A_FOLDER],
    ]),
    run(installed, clusterFlags(installed)),
  ];
  if (mcp.status !== 1 || !/npm install \.\/kithdb-mcp-\d[\w.-]*\.tgz/.test(mcp.stderr))
    throw new BuildError(`kithdb mcp without its package ended with ${mcp.status}: ${mcp.stderr}`);
  if (
    models.status !== 1 ||
    !/npm install --ignore-scripts \.\/kithdb-models-\d[\w.-]*\.tgz/.test(models.stderr)
  )
    throw new BuildError(`A model without its package ended with ${models.status}: ${models.stderr}`);
  if (cluster.status !== 1 || !/npm install \.\/kithdb-cluster-\d[\w.-]*\.tgz/.test(cluster.stderr))
    throw new BuildError(`A cluster without its package ended with ${cluster.status}: ${cluster.stderr}`);
}

/** A node whose certificate is none: it ends by itself. */
function clusterFlags(installed) {
  const pem = join(installed, 'none.pem');
  writeFileSync(pem, '-----BEGIN CERTIFICATE-----\n');
  return [
    ...['--port', '0', '--data-dir', join(installed, 'none'), '--token-store', 'memory'],
    ...['--cluster', 'nats://127.0.0.1:1'],
    ...['cert', 'key', 'ca'].flatMap((kind) => [`--cluster-tls-${kind}`, pem]),
  ];
}

/**
 * Installed beside kithdb, the package of a cluster is found, with its libraries, and shares its modules with the kithdb that
 * has loaded it.
 */
async function requireCluster(installed, tarball) {
  await npmInstall('packed-cluster', installed, mkdtempSync(join(installed, 'home-')), [tarball]);
  const program = `
    const { EngineError, openClusterEngine } = require('@kithdb/cluster');
    const host = require('kithdb/cluster-host');
    console.log(typeof openClusterEngine, EngineError === host.EngineError, Object.values(host).includes(undefined));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
    cwd: installed,
    encoding: 'utf8',
  });
  if (stdout.trim() !== 'function true false')
    throw new BuildError(`The package of a cluster said: ${stdout}${stderr}`);
  const node = run(installed, clusterFlags(installed));
  if (node.status !== 1 || !/for other nodes cannot be used/.test(node.stderr))
    throw new BuildError(`A node of a cluster ended with ${node.status}: ${node.stderr}`);
}

const MODEL_IN_A_FOLDER = JSON.stringify([{ name: 'local', path: root }]);

/** Runs the installed command to its end. */
function run(installed, args, input) {
  const command = join(installed, 'node_modules', 'kithdb', 'bin', 'kithdb.js');
  return spawnSync(process.execPath, [command, ...args], { encoding: 'utf8', input });
}

/** Installed beside kithdb, the package of MCP is found, and answers what a client asks first. */
async function requireMcp(installed, tarball) {
  await npmInstall('packed-mcp', installed, mkdtempSync(join(installed, 'home-')), [tarball]);
  const ask = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const client = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  };
  const input = [ask(1, 'initialize', client), ask(2, 'tools/list', {})].join('\n');
  const data = join(installed, 'mcp-data');
  mkdirSync(data);
  const { status, stdout, stderr } = run(installed, ['mcp', '--data-dir', data], `${input}\n`);
  const answers = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).result);
  const tools = answers[1]?.tools?.map(({ name }) => name).sort();
  if (status !== 0 || answers[0]?.serverInfo?.name !== 'kithdb' || tools?.join() !== MCP_TOOLS.join())
    throw new BuildError(`kithdb mcp ended with ${status} and said ${stdout}${stderr}`);
}

const MCP_TOOLS = ['count', 'describe_collection', 'list_collections', 'query'];

/** Installs tarballs in a folder, beside what is there, without install scripts and with `home` as the home of the user. */
async function npmInstall(step, folder, home, tarballs) {
  const [command, leading] = npm();
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await mustRun(step, command, [...leading, 'install', ...quiet, ...tarballs], {
    cwd: folder,
    env: bareEnvironment(home),
    bare: true,
  });
}

async function install(folder, tarballs) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  await npmInstall('packed-install', folder, folder, tarballs);
  const [command, leading] = npm();
  const wanted = tarballs.length;
  const { stdout } = spawnSync(command, [...leading, 'ls', '--json', '--long', '--all'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const own = platforms.filter(({ name }) => stdout.includes(`"@kithdb/engine-${name}"`)).length + 1;
  if (own !== wanted) throw new BuildError(`${own} packages of kithdb were installed, and not ${wanted}.`);
  const manifest = readFileSync(join(folder, 'node_modules', 'kithdb', 'package.json'), 'utf8');
  if (/optionalDependencies|devDependencies|"scripts"/.test(manifest))
    throw new BuildError(`The package asks a registry for more than it needs: ${manifest}`);
  return requireSmall(folder);
}

/** What a program imports is there, with its types. */
function requireExports(folder, { contents }) {
  const path = join(folder, 'node_modules', 'kithdb', 'package.json');
  const { types } = JSON.parse(readFileSync(path, 'utf8'));
  if (!contents.includes(types.replace('./', ''))) throw new BuildError(`The package has no ${types}.`);
  for (const program of [
    "require('kithdb')",
    "import('kithdb').then((module) => module.default ?? module)",
  ]) {
    const { status, stderr } = spawnSync(process.execPath, ['-e', program], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (status !== 0) throw new BuildError(`${program} failed in an installation: ${stderr}`);
  }
}

/** Where Node has no SQLite and there is no sqlite3 it says so; with one it serves. */
async function requireServing(folder) {
  if (!hasNodeSqlite()) {
    const launcher = join(folder, 'node_modules', 'kithdb', 'bin', 'kithdb.js');
    const args = [launcher, '--port', '0', '--data-dir', join(folder, 'refused')];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    if (
      status !== 1 ||
      !stderr.includes('Run Node.js 22.13 or newer') ||
      !stderr.includes(`--prefix "${folder}"`)
    )
      throw new BuildError(`Without a SQLite it ended with ${status} and said: ${stderr}`);
    addSqlite3(folder);
  }
  await serveOnce(folder);
}
