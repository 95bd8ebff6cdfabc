/**
 * The first ten minutes of a user, from the published packages in an empty folder: what the README says, word by word, a
 * program that opens a folder, and the command line. The commands and what they print are a transcript in `.build/logs`.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BuildError } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { environmentOf } from '../package/from-registry.mjs';
import { MANAGERS } from '../package/registry.mjs';
import { startServer } from '../server-process.mjs';

const README_ADDRESS = 'http://127.0.0.1:6363';
const log = join(root, '.build', 'logs', 'first-ten-minutes.txt');

/**
 * @param {{url: string, npmrc: string}} registry that has the packages
 * @param {string} place an empty folder
 * @param {string} node that runs everything
 * @returns {Promise<string>} the path of the transcript
 */
export async function walkFirstMinutes(registry, place, node) {
  mkdirSync(place, { recursive: true });
  const env = { ...environmentOf(registry, place, node), ...QUIET };
  const session = new Session(place, { ...env, PATH: `${commands(place)}:${env.PATH}` });
  try {
    await session.run('npm init --yes');
    await session.run('npm install kithdb');
    requireNoModels(place);
    await session.run('npx kithdb --version', { prints: versionOfTree() });
    await withServer(session, node, (url) => firstRequests(session, url));
    await openedFolder(session);
    await optionalPackage(session);
    return log;
  } finally {
    mkdirSync(dirname(log), { recursive: true });
    writeFileSync(log, session.transcript);
  }
}

/** What runs models of texts has 200 MB, and a script of its own: only who installs @kithdb/models gets it. */
function requireNoModels(place) {
  for (const name of ['onnxruntime-node', '@kithdb/models', '@kithdb/mcp'])
    if (existsSync(join(place, 'node_modules', name)))
      throw new BuildError(`The installation of kithdb has ${name}, which is optional.`);
}

const QUIET = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' };

/** npm and npx as commands of the folder's user: those that are locked. */
function commands(place) {
  const folder = join(place, '.commands');
  mkdirSync(folder);
  for (const name of ['npm', 'npx']) {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\nexec node '${cliOf(name)}' "$@"\n`);
    chmodSync(path, 0o755);
  }
  return folder;
}

const cliOf = (name) => join(dirname(MANAGERS['npm 11']), `${name}-cli.js`);

function versionOfTree() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
}

/** `npx kithdb`, on a free port, with its data in the folder where it begins. */
async function withServer(session, node, work) {
  const env = { ...session.env, KITHDB_PORT: '0' };
  const server = await startServer(cliOf('npx'), ['kithdb'], env, [], [node], session.place);
  session.note(`$ npx kithdb &\nready at ${server.url}`);
  try {
    await work(server.url);
  } finally {
    // npm passes no signal on to what it started.
    process.kill(Number(readFileSync(join(session.place, 'kithdb-data', 'lock'), 'utf8')), 'SIGTERM');
    await server.stop();
  }
}

/** The README's JavaScript and Python, and the command line beside them. */
async function firstRequests(session, url) {
  const [javascript, python] = ['first.mjs', 'first.py'].map(readmeBlock);
  session.save('first.mjs', javascript.code.replaceAll(README_ADDRESS, url));
  await session.run('node first.mjs', { prints: javascript.prints });
  const venv = join(root, '.build', 'venv');
  if (existsSync(join(venv, 'bin', 'python'))) {
    session.note('# venv, with qdrant-client, is that of the tests');
    symlinkSync(venv, join(session.place, 'venv'));
    session.save('first.py', python.code.replaceAll(README_ADDRESS, url));
    await session.run('venv/bin/python first.py', { prints: python.prints });
  } else {
    session.note('# There is no Python environment of the tests here: the block of the README is left out');
  }
  await session.run(`npx kithdb collections --url ${url}`, { prints: 'notes' });
  const exported = `npx kithdb export notes --url ${url} --to served.jsonl`;
  await session.run(exported, { prints: 'All are of one view of the collection.' });
}

/** The same program with `open` in place of `connect`, and the command line over its folder. */
async function openedFolder(session) {
  const { code, prints } = readmeBlock('first.mjs');
  const opening = code
    .replace('{ connect }', '{ open }')
    .replace(`connect('${README_ADDRESS}')`, "await open('./data')");
  session.save('embedded.mjs', opening);
  await session.run('node embedded.mjs', { prints });
  const vector = "--vector '[0.2, 1, 0.1, 0]' --limit 1";
  await session.run(`npx kithdb query notes --data-dir data ${vector}`, { prints });
  await session.run('npx kithdb export notes --data-dir data --to notes.jsonl', {
    prints: '2 points of notes',
  });
  const copied = 'npx kithdb import notes.jsonl --collection copies --distance Cosine --data-dir data';
  await session.run(copied, { prints: '2 points are in copies' });
  await session.run(`npx kithdb query copies --data-dir data ${vector}`, { prints });
}

/** A command that lacks its package names the command that installs it. */
async function optionalPackage(session) {
  const refused = await session.run('npx kithdb mcp --data-dir data', { prints: '@kithdb/mcp', code: 1 });
  const [install] = /npm install @kithdb\/mcp@\S+/.exec(refused) ?? [];
  if (install === undefined) throw new BuildError(`No command installs the package of MCP: ${refused}`);
  await session.run(install);
  await session.run('npx kithdb mcp --data-dir data');
}

/** A block of the README that is saved under a name, and what the block behind it says that it prints. */
export function readmeBlock(name) {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const [, behind = ''] = text.split(`<!-- test: save as ${name} -->`);
  const [, code] = /^\s*```\w+\n([^]*?)```/.exec(behind) ?? [];
  const [, prints] = /<!-- test: prints -->\s*```text\n([^]*?)```/.exec(behind) ?? [];
  if (code === undefined || prints === undefined) throw new BuildError(`The README has no block ${name}.`);
  return { code, prints: prints.trim() };
}

/** A shell in a folder, of which everything is written down. */
class Session {
  transcript = '';

  constructor(place, env) {
    this.place = place;
    this.env = env;
  }

  note(text) {
    this.transcript += `${text}\n\n`;
  }

  save(name, text) {
    writeFileSync(join(this.place, name), text);
    this.note(`# ${name}:\n${text.trimEnd()}`);
  }

  /** Runs a command, which must end with that code and print that text. @returns {Promise<string>} all that it prints */
  async run(command, { prints = '', code = 0 } = {}) {
    const ended = await inShell(command, this.place, this.env);
    this.note(`$ ${command}\n${ended.printed}`.trimEnd());
    if (ended.code !== code || !ended.printed.includes(prints))
      throw new BuildError(
        `${command} ended with ${ended.code} in place of ${code}, or did not print ${prints}:\n${ended.printed}`,
      );
    return ended.printed;
  }
}

function inShell(command, cwd, env) {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (printed += text));
    child.once('error', (error) => resolve({ code: 127, printed: error.message }));
    child.once('close', (code) => resolve({ code, printed }));
  });
}
