import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { open } from '../../src/index';
import { runCommand } from '../cli/run-command';
import type { Json } from '../contract/contract-server';
import { freePorts } from '../free-ports';
import { itUnless } from '../missing';
import { until } from '../until';

/** The command of a Chroma that is installed: `npm run test:long -- chroma` installs one. */
const CHROMA = process.env['CHROMA_COMMAND'];

const FILL = `
import sys, chromadb
client = chromadb.HttpClient(host='127.0.0.1', port=int(sys.argv[1]))
articles = client.create_collection(
    'articles', embedding_function=None, metadata={'team': 'a'},
    configuration={'hnsw': {'space': 'cosine', 'max_neighbors': 8}})
articles.add(
    ids=['1', 'doc ä/3', '8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b'],
    embeddings=[[3, 4], [0.1, 0.2], [1, 0]],
    documents=['one', None, 'three'],
    metadatas=[{'s': 'ä', 'i': 7, 'f': 1.5, 'b': True, 'list': ['a', 'b']}, {'n': 1}, None])
many = client.create_collection('many', embedding_function=None)
for start in range(0, 3000, 1000):
    ids = range(start, start + 1000)
    many.add(
        ids=[str(n) for n in ids], embeddings=[[n, 1, 2.5] for n in ids],
        documents=[f'text {n}' for n in ids], metadatas=[{'n': n} for n in ids])
client.create_collection('empty', embedding_function=None)
`;

describe('kithdb migrate chroma from a real server', () => {
  let folder: string;
  let chroma: ChildProcess | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-chroma-'));
  });
  afterEach(() => {
    chroma?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  itUnless(CHROMA === undefined ? 'npm run test:long -- chroma installs a Chroma' : undefined)(
    'C11.4 all records arrive',
    async () => {
      const command = CHROMA ?? '';
      const [port = 0] = await freePorts(1);
      const args = ['run', '--path', join(folder, 'chroma'), '--host', '127.0.0.1', '--port', String(port)];
      chroma = spawn(command, args, { stdio: 'ignore' });
      const from = `http://127.0.0.1:${port}`;
      await until(
        () =>
          fetch(`${from}/api/v2/heartbeat`).then(
            ({ ok }) => ok,
            () => false,
          ),
        100,
      );
      execFileSync(join(dirname(command), 'python'), ['-c', FILL, String(port)], { stdio: 'pipe' });
      const flags = ['--data-dir', join(folder, 'data'), '--state', join(folder, 'state.json'), '--json'];
      const { code, out, err } = await runCommand(['migrate', 'chroma', '--from', from, ...flags]);
      expect([code, err]).toEqual([3, '']);
      const { collections } = JSON.parse(out);
      expect(collections).toMatchObject([
        { name: 'articles', stored: 3, rejected: 0, compared: { source: 3, target: 3, different: [] } },
        { name: 'empty', failure: 'It is not created: it has no records, and so no dimension' },
        { name: 'many', stored: 3000, compared: { source: 3000, target: 3000, sampled: 100, different: [] } },
      ]);
      const db = await open(join(folder, 'data'));
      try {
        const { config } = (await db.getCollection('articles')) as Json;
        expect(config.params.vectors).toEqual({ size: 2, distance: 'Cosine' });
        expect([config.hnsw_config.m, config.metadata]).toEqual([8, { team: 'a' }]);
        const { points } = await db.scroll('articles', { limit: 10 });
        expect(points.map(({ id, payload }) => [id, payload])).toEqual([
          [1, { s: 'ä', i: 7, f: 1.5, b: true, list: ['a', 'b'], document: 'one' }],
          ['018414e2-73b2-53ea-8557-9a77a0a0742b', { n: 1, chroma_id: 'doc ä/3' }],
          ['8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b', { document: 'three' }],
        ]);
      } finally {
        await db.close();
      }
    },
    300_000,
  );
});
