import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describeUnless } from '../missing';
import { isNoNats, NATS_SERVER } from './nats-server';

const ROOT = join(__dirname, '..', '..');
const TIMEOUT_MS = 600_000;

interface Figure {
  readonly what: string;
  readonly measured: number | string | null;
}

interface Report {
  readonly machine: object;
  readonly searches: { readonly figures: readonly Figure[] };
  readonly writes: readonly { readonly batch: number; readonly figures: readonly Figure[] }[];
  readonly deaths: {
    readonly results: readonly { readonly what: string; readonly figures: readonly Figure[] }[];
  };
}

describeUnless(isNoNats)('npm run bench:cluster', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-cluster-test-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it(
    'measures searches, writes and deaths, draws these, and leaves nothing behind',
    () => {
      const [out, picture] = [join(folder, 'report.json'), join(folder, 'picture.svg')];
      const small = ['--rows', '300', '--rounds', '2', '--seconds', '0.2', '--kills', '1', '--before', '0.5'];
      const files = ['--after', '1', '--folder', folder, '--out', out, '--picture', picture];
      const { status, stderr } = spawnSync(
        process.execPath,
        [
          join(ROOT, 'bench', 'cluster.mjs'),
          '--data',
          join(ROOT, 'data', 'debian-small'),
          ...small,
          ...files,
        ],
        {
          encoding: 'utf8',
          timeout: TIMEOUT_MS,
          env: { ...process.env, KITHDB_NATS_SERVER: resolve(NATS_SERVER) },
        },
      );
      expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
      const { searches, writes, deaths } = JSON.parse(readFileSync(out, 'utf8')) as Report;
      expect(writes.map(({ batch }) => batch)).toEqual([100, 100, 1]);
      expect(deaths.results.map(({ what }) => what)).toEqual(['a data node', 'the log leader']);
      const figures = [searches, ...writes, ...deaths.results].flatMap((part) => part.figures);
      for (const { measured } of figures) expect(measured).toEqual(expect.any(Number));
      expect(readFileSync(picture, 'utf8')).toMatch(/^<svg [^]*the log leader is killed[^]*<\/svg>\n$/);
      expect(readdirSync(folder).sort()).toEqual(['picture.svg', 'report.json']);
    },
    TIMEOUT_MS,
  );
});
