import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inModule } from './module.js';

const ROOT = join(__dirname, '..', '..');
const RESULTS = join(ROOT, 'bench', 'results');
const PERFORMANCE = readFileSync(join(ROOT, 'docs', 'performance.md'), 'utf8');

describe('a result file', () => {
  it.each(readdirSync(RESULTS).filter((name) => name.endsWith('.json')))(
    '%s says the commit, the processor, the date, the command and the load',
    (name) => {
      const { machine } = JSON.parse(readFileSync(join(RESULTS, name), 'utf8')) as { machine: unknown };
      expect(machine).toMatchObject({
        commit: expect.stringMatching(/^[0-9a-f]{7,}$/) as string,
        cpu: expect.stringMatching(/./) as string,
        date: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
        command: expect.stringMatching(/^npm run bench:[\w-]+ -- /) as string,
        load_before: expect.any(Number) as number,
      });
    },
  );

  test('records its command without the folders of the machine', () => {
    const args = [
      '--data',
      '/srv/sets/a,/srv/b,normal:9x9',
      '--out=/tmp/b.json',
      '--url',
      'http://x/y',
      '--quick',
    ];
    expect(inModule('machine.mjs', `return m.withoutPaths(${JSON.stringify(args)});`)).toEqual([
      '--data',
      'a,b,normal:9x9',
      '--out=b.json',
      '--url',
      'http://x/y',
      '--quick',
    ]);
  });
});

describe('docs/performance.md', () => {
  test('has at most 80 lines', () => {
    expect(PERFORMANCE.trimEnd().split('\n').length).toBeLessThanOrEqual(80);
  });

  test('refers to result files that are there, and has a section for none without one', () => {
    const files = readdirSync(RESULTS);
    const named = [...PERFORMANCE.matchAll(/bench\/results\/([\w.-]+\.(?:json|svg))/g)].map(
      ([, name]) => name,
    );
    expect(named.filter((name) => !files.includes(name ?? ''))).toEqual([]);
    const sections = PERFORMANCE.split(/^## /m).slice(1);
    const withFigures = sections.filter((section) => /^\|.*\d.*\|$/m.test(section));
    expect(withFigures.length).toBeGreaterThan(0);
    for (const section of withFigures) expect(section).toMatch(/bench\/results\/[\w.-]+\.json/);
  });
});

const POINTS = [
  { recall: 0.9, qps: 8000 },
  { recall: 0.85, qps: 7000 }, // beaten by the first in both
  { recall: 0.99, qps: 2000 },
  { recall: 1, qps: 500 },
];

function at(recall: number): unknown {
  return inModule('index/curve.mjs', `return m.qpsAt(${JSON.stringify(POINTS)}, ${recall});`);
}

describe('queries per second at a recall', () => {
  test('are those of a measured point, or lie between its neighbours on log and logit scales', () => {
    expect(at(0.9)).toEqual({ qps: 8000 });
    const between = (at(0.97) as { qps: number }).qps;
    const logit = (p: number): number => Math.log(p / (1 - p));
    const share = (logit(0.97) - logit(0.9)) / (logit(0.99) - logit(0.9));
    expect(between).toBeCloseTo(8000 * (2000 / 8000) ** share, 6);
    expect((at(0.9999) as { qps: number }).qps).toBeLessThan(2000);
  });

  test('are unknown outside of what was measured, and which side it is', () => {
    expect(at(0.5)).toEqual({ qps: null, why: 'below' });
    expect(
      inModule('index/curve.mjs', `return m.qpsAt(${JSON.stringify(POINTS.slice(0, 2))}, 0.95);`),
    ).toEqual({ qps: null, why: 'above' });
  });
});

const RUNS = [
  { system: 'kithdb', mode: 'default', threads: 1, ef: 16, recall: 0.89, qps: 40_000 },
  { system: 'kithdb', mode: 'default', threads: 1, ef: 64, recall: 0.992, qps: 10_000 },
  { system: 'hnswlib', mode: null, threads: 1, ef: 16, recall: 0.89, qps: 10_000 },
  { system: 'hnswlib', mode: null, threads: 1, ef: 64, recall: 0.97, qps: 5000 },
];

test('ratios divide ours by theirs, and say why where they cannot', () => {
  const measured = {
    runs: RUNS,
    builds: [
      { system: 'kithdb', threads: 2, rows_per_s: 9000, recall_at_64: 0.992 },
      { system: 'hnswlib', threads: 2, rows_per_s: 3000, recall_at_64: 0.97 },
    ],
    scaling: [{ system: 'kithdb', mode: 'default', threads: 2, ef: 64, recall: 0.992, qps: 19_000 }],
    exact: {
      scanned_bytes: 1e9,
      scan_bytes_per_s: 90,
      stream_bytes_per_s: 100,
      batch_flops: 3,
      peak_flops: 4,
      batch: 64,
    },
  };
  const ratios = inModule('index/ratios.mjs', `return m.ratios(${JSON.stringify(measured)});`) as {
    search: { recall: number; ratio: number | null; why?: string }[];
  };
  expect(ratios).toMatchObject({
    build: [{ against: 'hnswlib', ratio: 3, recall_at_64: 0.992, their_recall_at_64: 0.97 }],
    threads: [{ system: 'kithdb', mode: 'default', ef: 64, threads: 2, ratio: 1.9 }],
    exact: { scan_of_stream: 0.9, batch_of_peak: 0.75, batch: 64 },
  });
  expect(ratios.search.map(({ recall }) => recall)).toEqual([0.9, 0.95, 0.98, 0.99]);
  expect(ratios.search[0]?.ratio).toBeGreaterThan(3.9);
  expect(ratios.search[3]).toMatchObject({ ratio: null, why: 'their recall: above' });
});

test('the picture has a curve, a label and a point with a tip for each system, in both colour schemes', () => {
  const text = { title: 'a < b & c', subtitle: '3 × 2' };
  const svg = inModule(
    'index/picture.mjs',
    `return m.picture(${JSON.stringify(RUNS)}, ${JSON.stringify(text)});`,
  ) as string;
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox=/);
  expect(svg).toContain('a &lt; b &amp; c');
  expect(svg).toContain('prefers-color-scheme:dark');
  expect(svg).toContain('>hnswlib</text>');
  expect(svg).toContain('>kithdb</text>');
  expect(svg.match(/<circle /g)).toHaveLength(RUNS.length);
  expect(svg).toContain('kithdb, ef 64: recall 0.992, 10000 a second');
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});

test('a single point makes a picture too', () => {
  const svg = inModule(
    'index/picture.mjs',
    `return m.picture(${JSON.stringify(RUNS.slice(0, 1))}, { title: '', subtitle: '' });`,
  ) as string;
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});

test('bars show the parts of the memory, and each filter beside no filter', () => {
  const report = {
    set: { name: 'a < b', rows: 2000, dims: 3 },
    memory: [
      {
        system: 'kithdb',
        bytes_per_row: 30,
        with_originals_bytes_per_row: 130,
        components: { codes: 10, links: 15, owners_and_deaths: 5 },
      },
      { system: 'hnswlib', bytes_per_row: 120 },
    ],
    filtered: { ef: 64, filtered: [{ filter: 'range', share_percent: 10, ratio: 1.234 }] },
  };
  const drawn = (which: string): string =>
    inModule('index/bars.mjs', `return m.${which}(${JSON.stringify(report)});`) as string;
  const memory = drawn('memoryBars');
  expect(memory).toContain('a &lt; b: bytes a row');
  expect(memory).toContain('kithdb (originals in memory): originals 100');
  expect(memory).toContain('>130</text>');
  expect(memory).toContain('hnswlib (vectors and graph): all 120');
  const filters = drawn('filterBars');
  expect(filters).toContain('>range, 10 %</text>');
  expect(filters).toContain('>1.23</text>');
  for (const svg of [memory, filters]) expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});
