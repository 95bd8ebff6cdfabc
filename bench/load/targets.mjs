/** What is measured: servers that are started from a checkout, and one that runs elsewhere. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startServer } from '../../scripts/server-process.mjs';
import { ask, call, fill } from './calls.mjs';
import { Cgroup } from './cgroup.mjs';
import { HEAVY, LIGHT } from './requests.mjs';

/**
 * @typedef {object} Caller
 * @property {string} token credential, or an empty string
 * @property {string | null} source address that its connections come from
 */

/**
 * @typedef {object} Server
 * @property {string} url
 * @property {string} token with every right
 * @property {number | null} pid
 * @property {Caller} bystander
 * @property {string} attackerToken
 * @property {() => Promise<unknown>} stop in order
 * @property {() => Promise<void>} kill
 * @property {string} [limitedBy] what limits the memory, where something does
 * @property {() => number | null} [peakMemoryBytes] the most memory of its control group
 * @property {() => Promise<Server>} [restart] starts it again over the same data, without a limit
 */

/**
 * @typedef {object} StartOptions
 * @property {'shared' | 'own'} [callers] whether the bystander has the attackers' address and no credential, or its own
 * @property {boolean} [isEmpty] starts without collections
 * @property {number} [memoryMb] limits the memory of the server
 */

/** What the bystander and the attackers have where they have something. */
const OWN_SOURCE = '127.0.0.2';
const ADMIN_PASSWORD = 'Bench-load-1-password';

/** After an attack: how long a server that cannot be started anew may take to be as fast as before. */
const SETTLE_TIMEOUT_MS = 180_000;
const SETTLED_MS = 50;
const SETTLED_CALLS = 20;

/** A checkout. Each measurement starts a server over a copy of the same folder. */
export class Tree {
  #root;
  #folder;
  #bench;
  /** Servers that run, and those that are being started. */
  #launches = new Set();
  #cgroups = new Set();
  #isClosed = false;

  /**
   * @param {string} tree
   * @param {string} folder for its data
   * @param {{set: object, scale: object}} bench
   */
  constructor(tree, folder, bench) {
    this.#root = resolve(tree);
    this.#folder = folder;
    this.#bench = bench;
    this.name = commitOf(this.#root) ?? this.#root;
    this.isTree = true;
    mkdirSync(folder, { recursive: true });
  }

  describe() {
    return { commit: this.name };
  }

  /** Loads the collections that every measurement begins with. */
  async prepare() {
    const { set, scale } = this.#bench;
    const server = await this.#launch(join(this.#folder, 'loaded'), {});
    await fill(server, HEAVY, set, set.rows, { payload: true });
    await fill(server, LIGHT, set, Math.min(scale.lightPoints, set.rows), { payload: false });
    await server.stop();
  }

  /**
   * @param {StartOptions} how
   * @returns {Promise<Server>}
   */
  async start({ callers = 'shared', isEmpty = false, memoryMb } = {}) {
    const data = join(this.#folder, 'run');
    rmSync(data, { recursive: true, force: true });
    if (!isEmpty) cpSync(join(this.#folder, 'loaded'), data, { recursive: true });
    const cgroup = memoryMb ? Cgroup.make(memoryMb) : null;
    const env = {
      ...(callers === 'own' && { KITHDB_ADMIN_PASSWORD: ADMIN_PASSWORD }),
      ...(memoryMb && !cgroup && { KITHDB_MEMORY_LIMIT: String(memoryMb * 2 ** 20) }),
    };
    if (cgroup) this.#cgroups.add(cgroup);
    const close = async () => {
      await cgroup?.remove();
      this.#cgroups.delete(cgroup);
      rmSync(data, { recursive: true, force: true });
    };
    let server;
    try {
      server = await this.#launch(data, env, cgroup?.prefix);
      return {
        ...server,
        limitedBy: cgroup ? 'a cgroup' : 'KITHDB_MEMORY_LIMIT',
        peakMemoryBytes: () => cgroup?.peakBytes ?? null,
        ...(callers === 'own' ? await ownCallers(server) : sharedCallers('')),
        kill: async () => {
          await server.kill();
          await close();
        },
        restart: () => this.#launch(data, {}),
      };
    } catch (error) {
      await server?.kill();
      await close();
      throw error;
    }
  }

  /** Ends what runs. */
  async cleanUp() {
    this.#isClosed = true;
    for (const launch of this.#launches) await launch.then(({ kill }) => kill()).catch(() => undefined);
    for (const cgroup of this.#cgroups) await cgroup.remove();
  }

  async #launch(data, env, prefix) {
    if (this.#isClosed) throw new Error('the benchmark is ending');
    const flags = ['--port', '0', '--data-dir', data, '--log-level', 'warn'];
    const launch = startServer(join(this.#root, 'bin', 'kithdb.js'), flags, env, prefix);
    this.#launches.add(launch);
    const forget = () => this.#launches.delete(launch);
    launch.catch(forget);
    const server = await launch;
    return {
      ...server,
      token: '',
      stop: () => server.stop().finally(forget),
      kill: () => server.kill().finally(forget),
    };
  }
}

/** A server that somebody else has started, and that serves Qdrant's API. */
export class Remote {
  #url;
  #tokens;
  #bench;

  /**
   * @param {string} url
   * @param {{token: string, bystanderToken: string}} tokens
   * @param {{set: object, scale: object}} bench
   */
  constructor(url, tokens, bench) {
    this.#url = url;
    this.#tokens = tokens;
    this.#bench = bench;
    this.name = url;
    this.isTree = false;
  }

  async describe() {
    const { title, version, kithdb_version } = await call(this.#server(), 'GET', '/');
    return { url: this.#url, title, version, kithdb_version };
  }

  async prepare() {
    const { set, scale } = this.#bench;
    await fill(this.#server(), HEAVY, set, set.rows, { payload: true });
    await fill(this.#server(), LIGHT, set, Math.min(scale.lightPoints, set.rows), { payload: false });
  }

  /** @returns {Promise<Server>} */
  async start({ callers = 'shared' } = {}) {
    const server = this.#server();
    await settled(server);
    const { token, bystanderToken } = this.#tokens;
    const own = {
      attackerToken: token,
      bystander: { token: bystanderToken || token, source: this.#isLocal() ? OWN_SOURCE : null },
    };
    const callersOf = callers === 'own' ? own : sharedCallers(token);
    const leave = () => Promise.resolve();
    return { ...server, pid: null, ...callersOf, stop: leave, kill: leave };
  }

  /** Deletes what {@link prepare} made. */
  async cleanUp() {
    for (const name of [HEAVY, LIGHT]) await ask(this.#server(), 'DELETE', `/collections/${name}`);
  }

  #server() {
    return { url: this.#url, token: this.#tokens.token };
  }

  #isLocal() {
    return /^(?:localhost|127\.\d+\.\d+\.\d+)$/.test(new URL(this.#url).hostname);
  }
}

function sharedCallers(token) {
  return { attackerToken: token, bystander: { token, source: null } };
}

/** Turns authentication on and makes a token for the attackers and one for the bystander. */
async function ownCallers({ url }) {
  const { token: jwt } = await call({ url }, 'POST', '/auth/admin/login', { password: ADMIN_PASSWORD });
  const admin = { url, token: jwt };
  await call(admin, 'PATCH', '/auth/enabled', { enabled: true });
  const make = async (name) => {
    const token = await call(admin, 'POST', '/auth/access_token', { name, permission: 'read,write' });
    return token.token;
  };
  const [attackerToken, bystander] = [await make('attacker'), await make('bystander')];
  return { token: jwt, attackerToken, bystander: { token: bystander, source: OWN_SOURCE } };
}

/** Waits until what an attack has left behind is done. */
async function settled(server) {
  const endsAt = performance.now() + SETTLE_TIMEOUT_MS;
  for (let fast = 0; fast < SETTLED_CALLS;) {
    if (performance.now() > endsAt)
      throw new Error(`${server.url} is still slow ${SETTLE_TIMEOUT_MS} ms later`);
    const sentAt = performance.now();
    const isAnswered = await ask(server, 'GET', `/collections/${LIGHT}`).then(
      () => true,
      () => false,
    );
    fast = isAnswered && performance.now() - sentAt < SETTLED_MS ? fast + 1 : 0;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Whether a folder is a checkout of this project that has been built. */
export function isBuiltTree(tree) {
  return existsSync(join(tree, 'bin', 'kithdb.js')) && existsSync(join(tree, 'dist'));
}

function commitOf(tree) {
  try {
    const git = (...args) =>
      execFileSync('git', ['-C', tree, ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    const commit = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain', '--untracked-files=no') ? `${commit}, with changes` : commit;
  } catch {
    return null;
  }
}
