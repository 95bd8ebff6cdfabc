import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runsAll } from '../sample';
import { inModule } from './module';

const ROOT = join(__dirname, '..', '..');
const DATA = join(ROOT, 'data', 'debian-small');

/** The scenarios with their parts; those of the attacks on data have callers. */
const ALL: Readonly<Record<string, readonly string[]>> = {
  'attack-1': ['text', 'best_score', 'discover', 'mmr'],
  'attack-2': ['declared', 'many'],
  'attack-6': ['read', 'unread'],
  'attack-8': ['silent'],
  'attack-18': ['batches'],
  'attack-19': ['between'],
  'attack-24': ['10 collections', '20 collections'],
  overload: ['closed loop', 'open loop'],
  neighbour: ['neighbour'],
  memory: ['512 MiB'],
  stop: ['20 dirty collections'],
};
const WITHOUT_CALLERS = ['attack-24', 'overload', 'memory', 'stop'];

/** A normal run takes two; `npm run test:long -- cases` has all. */
const SCENARIOS = runsAll ? Object.keys(ALL) : ['attack-18', 'stop'];

/** The generator is compiled first where it is out of date. */
const TIMEOUT_MS = 900_000;

interface Figure {
  what: string;
  measured: number | string | null;
  must?: number | string;
  aim?: number;
  verdict: string | null;
}

interface Report {
  set: unknown;
  machine: unknown;
  targets: unknown[];
  results: { scenario: string; part: string; callers: string | null; figures: Figure[]; details?: object }[];
}

describe('npm run bench:load', () => {
  let folder: string;
  let report: Report;
  let stdout: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-load-test-'));
    const out = join(folder, 'report.json');
    const args = ['--data', DATA, '--quick', '--scenarios', SCENARIOS.join(',')];
    const ran = spawnSync(
      process.execPath,
      [join(ROOT, 'bench', 'load-suite.mjs'), ...args, '--callers', 'own', '--folder', folder, '--out', out],
      { encoding: 'utf8', timeout: TIMEOUT_MS },
    );
    if (ran.status !== 0) throw new Error(`${ran.stdout}${ran.stderr}`);
    stdout = ran.stdout;
    report = JSON.parse(readFileSync(out, 'utf8')) as Report;
  }, TIMEOUT_MS);
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  test('says what it measured, where and how', () => {
    expect(report.set).toEqual({ name: 'debian-small', rows: 2000, dims: 384, distance: 'Cosine' });
    expect(report.machine).toMatchObject({
      commit: expect.any(String) as string,
      cpu: expect.any(String) as string,
      date: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
      command: expect.stringMatching(/^npm run bench:load -- --data debian-small --quick /) as string,
      load_before: expect.any(Number) as number,
    });
    expect(report.targets).toEqual([{ commit: expect.any(String) as string }]);
  });

  test('has each part of the scenarios, with figures, bounds and verdicts', () => {
    const parts = report.results.map(({ scenario, part, callers }) => [scenario, part, callers]);
    const expected = SCENARIOS.flatMap((scenario) => {
      const callers = WITHOUT_CALLERS.includes(scenario) ? null : 'own';
      return (ALL[scenario] ?? []).map((part) => [scenario, part, callers]);
    });
    expect(parts).toEqual(expected);
    for (const { figures } of report.results) {
      expect(figures.length).toBeGreaterThan(0);
      for (const { what, must, verdict } of figures) {
        expect(stdout).toContain(what);
        expect(verdict === null).toBe(must === undefined);
        expect([null, 'aim', 'must', 'missed']).toContain(verdict);
      }
    }
    expect(stdout).toContain(`of ${parts.length} parts reach what they must`);
  });

  test('counts what a bystander and its attackers were answered', () => {
    const result = (name: string): Report['results'][number] =>
      report.results.find(({ scenario }) => scenario === name)!;
    expect(result('attack-18').details).toMatchObject({
      idle: { all: { statuses: { 200: { count: expect.any(Number) as number } } } },
      during: { all: { waited: { latency: { p99: expect.any(Number) as number } } } },
      attackers: [{ sent_bytes: expect.any(Number) as number, connections: expect.any(Object) as object }],
    });
    const measured = (scenario: string, what: string): unknown =>
      result(scenario).figures.find((figure) => figure.what === what)?.measured;
    const isNumber = expect.any(Number) as number;
    expect(measured('attack-18', 'a light write, answers that are 200')).toEqual(isNumber);
    expect(measured('stop', 'acknowledged points that are lost')).toBe(0);
    if (process.platform === 'linux') {
      expect(measured('attack-18', 'busy after the attackers were told to go')).toEqual(isNumber);
    }
    if (runsAll) {
      expect(result('attack-2').details).toMatchObject({ attackers: [{ connections: { opened: 2 } }] });
      expect(measured('attack-19', 'a creation, answers that are 200')).toEqual(isNumber);
      expect(measured('attack-24', "bystander's p99")).toEqual(isNumber);
      expect(measured('memory', 'acknowledged points that are lost')).toBe(0);
      expect(['a cgroup', 'KITHDB_MEMORY_LIMIT']).toContain(measured('memory', 'limited by'));
    }
  });

  test('leaves nothing in its folder', () => {
    expect(readdirSync(folder)).toEqual(['report.json']);
  });
});

test('a figure is compared with its bounds, and one that could not be measured misses them', () => {
  const verdicts = inModule(
    'load/verdict.mjs',
    `const bounds = { must: 10, aim: 3 };
     return [
       m.atMost('a', 3, 'ms', bounds), m.atMost('a', 9, 'ms', bounds), m.atMost('a', 11, 'ms', bounds),
       m.atLeast('a', 11, 'ms', { must: 9, aim: 10 }), m.atLeast('a', 8, 'ms', { must: 9, aim: 10 }),
       m.atMost('a', null, 'ms', bounds), m.atMost('a', 9, 'ms'), m.holds('a', true), m.holds('a', false),
     ].map(({ verdict }) => verdict);`,
  );
  expect(verdicts).toEqual(['aim', 'must', 'missed', 'aim', 'missed', 'missed', null, 'aim', 'missed']);
});
