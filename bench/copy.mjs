/**
 * The points of a set as `COPY` of PostgreSQL with the extension pgvector: a server that runs elsewhere takes them from
 * `psql`, each file in a transaction of its own.
 */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
const TRAILER = Buffer.from([0xff, 0xff]);
const TABLE = 'kithdb_bench_copy';

/**
 * A side of the benchmark that sends the points by `COPY … (format binary)`.
 *
 * @param {string} url of the database, `postgres://…`
 * @param {import('../data/vector-set.mjs').VectorSet} set the points
 * @param {{batch: number, connections: number, folder: string}} how points in a transaction, connections that send at the same
 * time, and a folder for the files
 * @returns {{version: string, bytes: number, rate: () => Promise<number>}} the servers' versions, the bytes of all files, and a
 * function that fills a new table and returns the points that were committed in a second
 */
export function copySide(url, set, { batch, connections, folder }) {
  const files = [];
  let bytes = 0;
  for (let first = 0; first < set.rows; first += batch) {
    const rows = Array.from({ length: Math.min(batch, set.rows - first) }, (_, at) => tuple(set, first + at));
    const file = Buffer.concat([HEADER, ...rows, TRAILER]);
    files.push(join(folder, `copy-${batch}-${first}`));
    writeFileSync(files.at(-1), file);
    bytes += file.length;
  }
  // The connections share the files out in turns.
  const scripts = Array.from({ length: connections }, (_, at) =>
    files
      .filter((_file, place) => place % connections === at)
      .map((file) => `\\copy ${TABLE} from '${file}' with (format binary)`)
      .join('\n'),
  ).filter((script) => script !== '');
  return { version: versionOf(url), bytes, rate: () => rateOf(url, set, scripts) };
}

function versionOf(url) {
  const [server, settings] = [
    "select current_setting('server_version'), extversion from pg_extension where extname = 'vector'",
    "select current_setting('fsync'), current_setting('synchronous_commit')",
  ].map((sql) => asked(url, sql).split('|'));
  if (server.length !== 2) throw new Error('the database lacks the extension vector');
  return `PostgreSQL ${server[0]}, pgvector ${server[1]}, fsync ${settings[0]}, synchronous_commit ${settings[1]}`;
}

async function rateOf(url, set, scripts) {
  const payload = set.payloads === null ? '' : ', payload jsonb';
  asked(
    url,
    // Without the notice that there is no such table.
    `set client_min_messages = warning; drop table if exists ${TABLE}; create table ${TABLE} (id bigint primary key, v vector(${set.dims})${payload})`,
  );
  const start = performance.now();
  await Promise.all(scripts.map((script) => run(url, script)));
  const seconds = (performance.now() - start) / 1000;
  const rows = Number(asked(url, `select count(*) from ${TABLE}`));
  if (rows !== set.rows) throw new Error(`${rows} rows of ${set.rows}`);
  asked(url, `drop table ${TABLE}`);
  // So that no round pays for the pages of the one before.
  asked(url, 'checkpoint');
  return set.rows / seconds;
}

function tuple(set, row) {
  const vector = set.base(row);
  const payload = set.payloads === null ? null : Buffer.from(JSON.stringify(set.payloads[row]));
  const size = 2 + 12 + 8 + vector.length * 4 + (payload === null ? 0 : 5 + payload.length);
  const out = Buffer.alloc(size);
  let at = out.writeInt16BE(payload === null ? 2 : 3);
  at = out.writeInt32BE(8, at);
  at = out.writeBigInt64BE(BigInt(row), at);
  at = out.writeInt32BE(4 + vector.length * 4, at);
  at = out.writeInt16BE(vector.length, at);
  at = out.writeInt16BE(0, at);
  for (const component of vector) at = out.writeFloatBE(component, at);
  if (payload !== null) {
    at = out.writeInt32BE(1 + payload.length, at);
    // The version of jsonb's binary form.
    at = out.writeInt8(1, at);
    payload.copy(out, at);
  }
  return out;
}

function asked(url, sql) {
  return execFileSync('psql', [url, '-XqAt', '-v', 'ON_ERROR_STOP=1', '-c', sql], {
    encoding: 'utf8',
  }).trim();
}

function run(url, script) {
  return new Promise((resolve, reject) => {
    const child = spawn('psql', [url, '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', '-'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`psql ended with ${code}`))));
    child.stdin.end(script);
  });
}
