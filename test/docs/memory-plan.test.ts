import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inScript } from './script';

const root = join(__dirname, '..', '..');

interface Measured {
  readonly system: string;
  readonly bytes_per_row: number;
  readonly with_originals_bytes_per_row?: number;
}

interface Report {
  readonly set: { readonly rows: number; readonly dims: number };
  readonly parameters: { readonly m: number };
  readonly memory: readonly Measured[] | null;
  readonly churn: readonly { readonly bytes_per_point: Record<'codes' | 'links' | 'points', number> }[];
}

const PAGE = readFileSync(join(root, 'docs', 'guides', 'memory-planning.md'), 'utf8');

function reportOf(name: string): Report {
  return JSON.parse(readFileSync(join(root, 'bench', 'results', `${name}.json`), 'utf8')) as Report;
}

/** Bytes of the parts by the calculator of the site. */
function planOf(points: number, dimensions: number, m: number): Record<string, number> {
  const collection = JSON.stringify({
    ...{ points, dimensions, m, elementBytes: 4, bits: 4, originalsInMemory: false },
    ...{ payloadBytes: 0, indexedValues: 0 },
  });
  const expression = `script.planMemory(${collection})`;
  return inScript('site/.vitepress/theme/memory-plan.mjs', expression) as Record<string, number>;
}

describe('the calculator of memory agrees with what was measured', () => {
  it.each([
    ['memory-debian-384', ['codes', 'links', 'points']],
    // Of a commit whose points took more.
    ['index-mnist-784-avx512', ['codes', 'links']],
  ] as const)('to five parts in a hundred: %s', (name, parts) => {
    const { set, parameters, churn } = reportOf(name);
    const plan = planOf(set.rows, set.dims, parameters.m);
    for (const part of parts) {
      const ratio = plan[part]! / set.rows / churn[0]!.bytes_per_point[part];
      expect([part, ratio > 0.95 && ratio < 1.05]).toEqual([part, true]);
    }
  });
});

describe('the page about planning memory has', () => {
  it('the largest collection that fits into 1 GiB by the calculator', () => {
    const [, millions, dimensions] = /some ([\d.]+) million vectors of (\d+) components/.exec(PAGE) ?? [];
    const limitOf = (points: number): number => planOf(points, Number(dimensions), 16)['limit']!;
    const fitting = (2 ** 30 - limitOf(0)) / (limitOf(1) - limitOf(0));
    expect((fitting / 1e6).toFixed(2)).toBe(millions);
  });

  it('what was measured beside other libraries', () => {
    const [, ...figures] =
      /: ([\d,]+) bytes in memory by default, ([\d,]+) with the originals in memory, where hnswlib has ([\d,]+)/.exec(
        PAGE,
      ) ?? [];
    const { memory } = reportOf('memory-debian-384');
    const of = (system: string): Measured => memory!.find((one) => one.system === system)!;
    const kithdb = of('kithdb');
    const measured = [kithdb.bytes_per_row, kithdb.with_originals_bytes_per_row, of('hnswlib').bytes_per_row];
    expect(figures.map((figure) => Number(figure.replace(',', '')))).toEqual(
      measured.map((bytes) => Math.round(bytes!)),
    );
  });
});
