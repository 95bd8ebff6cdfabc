/**
 * `node scripts/schemathesis.mjs [--max-examples N] [--seed N] [--phases a,b]`: requests generated from the
 * description of the HTTP interface against live servers, one without authentication and one with. No answer may be a
 * 5xx (the groups that answer 501 apart) or depart from the description; nothing that the description rules out may
 * be accepted. `test/openapi/schemathesis.toml` says what is checked.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mustRun } from './build/process.mjs';
import { python } from './build/python.mjs';
import { root } from './build/tree.mjs';
import { startServer } from './server-process.mjs';

const password = 'Correct-horse-7-staple';
const hooks = join(root, 'test', 'openapi');
const settings = join(hooks, 'schemathesis.toml');

/** The collections of the generated requests; the description's examples name them. */
const collections = {
  articles: { vectors: { size: 4, distance: 'Cosine' } },
  spare: { vectors: { size: 2, distance: 'Dot' } },
};
const points = [
  { id: 1, vector: [0.9, 0.1, 0.1, 0.2], payload: { title: 'Owls', year: 2021, tags: ['birds'] } },
  { id: 2, vector: [0.1, 0.8, 0.2, 0.1], payload: { title: 'Foxes', place: { lon: 13.4, lat: 52.5 } } },
];

/**
 * @typedef {object} Effort
 * @property {number} maxExamples cases for each operation and phase
 * @property {string[]} phases schemathesis' phases
 * @property {number} [seed] the same cases each time; others when absent
 */

/**
 * Runs both.
 *
 * @param {Effort} effort
 * @returns {Promise<string | undefined>} a note when there is no Python
 */
export async function runSchemathesis(effort) {
  if (!existsSync(python)) return 'skipped: no Python environment (step python)';
  await withServer({}, (url) => tryServer('open', url, [], effort));
  const guarded = {
    KITHDB_ADMIN_PASSWORD: password,
    KITHDB_AUTH_ENABLED: 'true',
    // The credential must last longer than the longest run.
    KITHDB_JWT_TTL_SECONDS: '86400',
  };
  await withServer(guarded, async (url) => {
    const { token } = await call(url, 'POST', '/auth/admin/login', { password });
    await tryServer('guarded', url, ['Authorization', `Bearer ${token}`], effort);
  });
  return undefined;
}

/** Runs `work` with a server that has a folder of its own. */
async function withServer(env, work) {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-schemathesis-'));
  const flags = ['--port', '0', '--data-dir', join(folder, 'data'), '--log-level', 'error'];
  try {
    const server = await startServer(join(root, 'bin', 'kithdb.js'), flags, env);
    try {
      await work(server.url, folder);
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryServer(name, url, credential, { maxExamples, phases, seed }) {
  const headers = Object.fromEntries(credential.length > 0 ? [credential] : []);
  for (const [collection, body] of Object.entries(collections)) {
    await call(url, 'PUT', `/collections/${collection}`, body, headers);
  }
  await call(url, 'PUT', '/collections/articles/points', { points }, headers);
  const guarded = credential.length > 0;
  const args = [
    ...['--config-file', settings, 'run', `${url}/openapi.json`],
    ...['--max-examples', String(maxExamples), '--phases', phases.join(','), '--workers', '2'],
    ...['--continue-on-failure', '--generation-database', 'none', '--warnings', 'off'],
    // Its bodies are messages of another protocol, whose library decides what it refuses first.
    ...['--exclude-path', '/mcp'],
    ...(seed === undefined ? [] : ['--seed', String(seed)]),
    // Without authentication nothing is ignored. With it, these two would end it or its JWT.
    ...(guarded
      ? ['--header', credential.join(': '), '--exclude-operation-id', 'reset_admin_password']
      : ['--exclude-checks', 'ignored_auth']),
    ...(guarded ? ['--exclude-operation-id', 'set_auth_enabled'] : []),
  ];
  const options = { cwd: tmpdir(), env: { SCHEMATHESIS_HOOKS: 'null_is_absent', PYTHONPATH: hooks } };
  await mustRun(`schemathesis-${name}`, python, ['-m', 'schemathesis.cli', ...args], options);
}

async function call(url, method, path, body, headers = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      'max-examples': { type: 'string', default: '1000' },
      seed: { type: 'string' },
      phases: { type: 'string', default: 'examples,coverage,fuzzing' },
    },
  });
  const note = await runSchemathesis({
    maxExamples: Number(values['max-examples']),
    seed: values.seed === undefined ? undefined : Number(values.seed),
    phases: values.phases.split(','),
  });
  if (note !== undefined) console.log(note);
}
