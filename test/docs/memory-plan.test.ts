import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inScript } from './script';

const root = join(__dirname, '..', '..');

interface Report {
  readonly set: { readonly rows: number; readonly dims: number };
  readonly parameters: { readonly m: number };
  readonly churn: readonly { readonly bytes_per_point: Record<'codes' | 'links' | 'points', number> }[];
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
    const path = join(root, 'bench', 'results', `${name}.json`);
    const { set, parameters, churn } = JSON.parse(readFileSync(path, 'utf8')) as Report;
    const plan = planOf(set.rows, set.dims, parameters.m);
    for (const part of parts) {
      const ratio = plan[part]! / set.rows / churn[0]!.bytes_per_point[part];
      expect([part, ratio > 0.95 && ratio < 1.05]).toEqual([part, true]);
    }
  });
});
