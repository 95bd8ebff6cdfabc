/**
 * `npm run example [-- --url URL] [--token TOKEN] [--collection NAME]`: loads the 2,000 package descriptions of
 * `data/debian-small` into a running server and asks them questions, with and without filters. It may be run
 * again: loading replaces each point with the same one. EXAMPLE_URL and EXAMPLE_TOKEN are used where the flags are absent.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from './build/tree.mjs';

const POINTS_PER_REQUEST = 250;

/** A server that has just started answers 412 for a moment: 500 ms, doubled each time, is what it asks for. */
const NOT_READY_RETRIES = 5;

/** Questions by their text in `queries.jsonl`, where the embedding of each is. */
const QUESTIONS = [
  { text: 'Run arbitrary commands when files change' },
  { text: 'library to measure the difference between two strings' },
  {
    text: 'library to measure the difference between two strings',
    only: 'for Python or Perl: section is python or perl',
    filter: { must: [{ key: 'section', match: { any: ['python', 'perl'] } }] },
  },
  {
    text: 'strategy game for 2-4 players',
    only: 'games with a window: section is games, one of the tags is interface::x11',
    filter: {
      must: [
        { key: 'section', match: { value: 'games' } },
        { key: 'tags', match: { value: 'interface::x11' } },
      ],
    },
  },
  {
    text: 'network packet generator and capture tool',
    only: 'small ones: installed_kib is at most 100',
    filter: { must: [{ key: 'installed_kib', range: { lte: 100 } }] },
  },
  {
    text: 'Qt-based audio/MIDI sequencer',
    only: 'no libraries: section is neither libs nor libdevel',
    filter: { must_not: [{ key: 'section', match: { any: ['libs', 'libdevel'] } }] },
  },
];

const USAGE = `npm run example [-- flags]

  --url URL          the server; default: http://127.0.0.1:6363
  --token TOKEN      credential with read and write permission, where authentication is enabled
  --collection NAME  default: debian
`;

/** A failure that is reported as one sentence, without a stack trace. */
class ExampleError extends Error {}

// `| head` closes the pipe early, and that is no failure.
process.stdout.on('error', () => process.exit(0));

const flags = readFlags();
const collectionPath = `/collections/${encodeURIComponent(flags.collection)}`;

try {
  const set = readVectorSet(join(root, 'data', 'debian-small'));
  await requireServer();
  await createCollection(set);
  await load(set);
  for (const question of QUESTIONS) await ask(set, question);
  console.log(`\nThe collection is called ${flags.collection}; docs/quick-start.md goes on with it.`);
} catch (error) {
  if (!(error instanceof ExampleError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

function readFlags() {
  const options = {
    help: { type: 'boolean', short: 'h', default: false },
    url: { type: 'string', default: process.env.EXAMPLE_URL ?? 'http://127.0.0.1:6363' },
    token: { type: 'string', default: process.env.EXAMPLE_TOKEN ?? '' },
    collection: { type: 'string', default: 'debian' },
  };
  try {
    const { values } = parseArgs({ options });
    if (!values.help) return values;
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

async function requireServer() {
  const { title = 'something else' } = await request('GET', '/');
  if (!title.startsWith('kithdb'))
    throw new ExampleError(`${flags.url} is not a KithDB server: it is ${title}`);
}

async function createCollection(set) {
  const { result } = await request('GET', `${collectionPath}/exists`);
  if (!result.exists) {
    await request('PUT', collectionPath, { vectors: { size: set.dims, distance: set.distance } });
  }
  const schemas = { section: 'keyword', tags: 'keyword', installed_kib: 'integer' };
  for (const [field_name, field_schema] of Object.entries(schemas)) {
    await request('PUT', `${collectionPath}/index`, { field_name, field_schema });
  }
}

async function load(set) {
  const startedAt = performance.now();
  for (let first = 0; first < set.rows; first += POINTS_PER_REQUEST) {
    const count = Math.min(POINTS_PER_REQUEST, set.rows - first);
    const points = Array.from({ length: count }, (_, index) => {
      const { id, ...payload } = set.payloads[first + index];
      return { id, vector: Array.from(set.base(first + index)), payload };
    });
    await request('PUT', `${collectionPath}/points`, { points });
  }
  const { result } = await request('POST', `${collectionPath}/points/count`, {});
  const took = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${result.count} package descriptions are stored and searchable; loading took ${took} s.`);
}

async function ask(set, { text, only, filter }) {
  const row = set.queryTexts.findIndex((query) => query.text === text);
  const { result } = await request('POST', `${collectionPath}/points/search`, {
    vector: Array.from(set.query(row)),
    limit: 3,
    with_payload: ['name', 'section', 'installed_kib', 'synopsis'],
    ...(filter && { filter }),
  });
  console.log(`\n“${text}”${only ? `\n  ${only}` : ''}`);
  for (const { score, payload } of result) {
    const { name, section, installed_kib, synopsis } = payload;
    console.log(`  ${score.toFixed(2)}  ${name} (${section}, ${installed_kib} KiB): ${synopsis}`);
  }
  if (result.length === 0) console.log('  nothing');
}

/** One request, answered with the parsed body of a success. */
async function request(method, path, body) {
  for (let attempt = 0; ; attempt++) {
    const response = await send(method, path, body);
    const text = await response.text();
    if (response.status === 412 && attempt < NOT_READY_RETRIES) {
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
      continue;
    }
    if (response.ok) return parse(text);
    throw new ExampleError(explain(response.status, text));
  }
}

async function send(method, path, body) {
  try {
    return await fetch(flags.url.replace(/\/$/, '') + path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(flags.token && { authorization: `Bearer ${flags.token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw new ExampleError(
      `No server answers at ${flags.url} (${error.cause?.code ?? error.message}). ` +
        'Start one in another terminal with `npm start`, or name another with --url.',
    );
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new ExampleError(`${flags.url} does not speak JSON: it is not a KithDB server.`);
  }
}

function explain(status, text) {
  if (status === 401)
    return flags.token
      ? 'The server does not know this token: it is mistyped, expired or deleted.'
      : 'The server wants a credential: pass one with --token (read and write permission).';
  if (status === 403) return `The server refused: ${text}. The token needs read and write permission.`;
  if (status === 400 && text.includes('Dimension mismatch')) {
    return `The collection ${flags.collection} holds something else: choose another name with --collection.`;
  }
  return `The server answered ${status}: ${text}`;
}
