import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(__dirname, '..', '..');

interface Entry {
  readonly language: string;
  readonly commit: string;
  readonly file: string;
  readonly line: number;
  readonly mutant: string;
  readonly outcome: string;
  readonly why?: string;
}

const record = JSON.parse(readFileSync(join(root, 'docs', 'mutants.json'), 'utf8')) as Entry[];

/** What an expression over the exports of scripts/mutants/sample.mjs is. */
function inSample(expression: string): unknown {
  const url = pathToFileURL(join(root, 'scripts', 'mutants', 'sample.mjs')).href;
  const script = `import * as sample from '${url}'; console.log(JSON.stringify(${expression}));`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
  );
}

const MUTANTS = `Array.from({ length: 40 }, (_, at) =>
  ({ file: 'a.rs', line: 10 * at, endLine: 10 * at + 1, column: 1, mutant: 'm' }))`;

describe('docs/mutants.json', () => {
  it('explains each mutant that survived, by itself', () => {
    const silent = record.filter(({ outcome, why = '' }) => outcome === 'survived' && why.length < 20);
    expect(silent.map(({ file, line, mutant }) => `${file}:${line}: ${mutant}`)).toEqual([]);
  });

  it('explains nothing else', () => {
    expect(record.filter(({ outcome, why }) => outcome !== 'survived' && why !== undefined)).toEqual([]);
  });
});

describe('a sample of mutants', () => {
  it('is decided by its seed, whatever the order of the list, and begins with a smaller one', () => {
    const lines = (expression: string) => inSample(`${expression}.map(({ line }) => line)`) as number[];
    const sample = lines(`sample.sampleOf(${MUTANTS}, 1, 20)`);
    expect(lines(`sample.sampleOf(${MUTANTS}.reverse(), 1, 20)`)).toEqual(sample);
    expect(lines(`sample.sampleOf(${MUTANTS}, 1, 8)`)).toEqual(sample.slice(0, 8));
    expect(lines(`sample.sampleOf(${MUTANTS}, 2, 20)`)).not.toEqual(sample);
  });

  it('is divided into shards that have each mutant once', () => {
    const shards = [1, 2, 3].flatMap(
      (shard) => inSample(`sample.shardOf([1, 2, 3, 4, 5, 6, 7], { shard: ${shard}, count: 3 })`) as number[],
    );
    expect(shards.sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('has of a difference only what touches its lines', () => {
    const diff = [
      '+++ b/a.rs',
      '@@ -1 +31 @@',
      '@@ -7,2 +100,0 @@',
      '@@ -9 +119,3 @@',
      '+++ b/b.rs',
      '@@ -1 +10 @@',
    ];
    const chosen = inSample(`sample.changedIn(${MUTANTS}, ${JSON.stringify(diff.join('\n'))})`) as Entry[];
    expect(chosen.map(({ line }) => line)).toEqual([30, 120]);
  });
});
