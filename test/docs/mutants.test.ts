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
  return inModule('sample', expression);
}

/** What an expression over the exports of a module of scripts/mutants is, under the module's name. */
function inModule(name: string, expression: string): unknown {
  const url = pathToFileURL(join(root, 'scripts', 'mutants', `${name}.mjs`)).href;
  const script = `import * as ${name} from '${url}'; console.log(JSON.stringify(${expression}));`;
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

describe('a mutant of another commit', () => {
  const before = ['if a < b {', '  step(a < b)', '}', 'if a < b {', '}'].join('\n');
  const now = ['// New.', 'if a < b {', '    step(a < b)', '}', 'while c {', '  if a < b {', '  }', '}'].join(
    '\n',
  );
  const names = [
    { line: 2, column: 6, mutant: 'less' },
    { line: 3, column: 12, mutant: 'less' },
    { line: 6, column: 8, mutant: 'less' },
    { line: 6, column: 8, mutant: 'none' },
  ];
  const movedTo = (earlier: object, text = now) =>
    inSample(
      `sample.movedTo(${JSON.stringify(earlier)}, ${JSON.stringify(names)}, ${JSON.stringify(before)}, ${JSON.stringify(text)}) ?? null`,
    );

  it('is found where its line has moved, however often there is such a line', () => {
    expect(movedTo({ line: 1, column: 6, mutant: 'less' })).toEqual(names[0]);
    expect(movedTo({ line: 2, column: 10, mutant: 'less' })).toEqual(names[1]);
    expect(movedTo({ line: 4, column: 6, mutant: 'less' })).toEqual(names[2]);
  });

  it('is not found where its line has changed, or for another mutant of the line', () => {
    expect(
      movedTo({ line: 4, column: 6, mutant: 'less' }, now.replace('  if a < b', '  if a <= b')),
    ).toBeNull();
    expect(movedTo({ line: 4, column: 6, mutant: 'more' })).toBeNull();
  });
});

describe('mutants of Rust behind switches', () => {
  const file = [
    'fn first(x: u32) -> u32 {',
    "    let brace = '{';",
    '    x + 1',
    '}',
    'const fn fixed() -> u32 { 1 }',
    'fn opaque() -> impl Iterator<Item = u32> { 1..2 }',
    'impl Thing for &[u8; { 2 }] {',
    '    fn second(&self) -> bool { "}" == "{" }',
    '}',
  ].join('\n');
  /** A mutant of the characters `what` in a line, within the function of these lines. */
  const mutant = (
    number: number,
    line: number,
    what: string,
    replacement: string,
    lines: [number, number],
  ) => {
    const text = file.split('\n');
    const column = text[line - 1]!.indexOf(what) + 1;
    const place = (at: number, from: number) => ({ line: at, column: from });
    return {
      ...{
        number,
        replacement,
        span: { start: place(line, column), end: place(line, column + what.length) },
      },
      functionSpan: {
        start: place(lines[0], text[lines[0] - 1]!.indexOf(lines[0] === 5 ? 'const' : 'fn') + 1),
        end: place(lines[1], text[lines[1] - 1]!.length + 1),
      },
    };
  };
  const mutants = [
    mutant(1, 3, '+', '-', [1, 4]),
    mutant(2, 8, '==', '!=', [8, 8]),
    mutant(3, 3, '1', '2', [1, 4]),
    mutant(4, 5, '1', '0', [5, 5]),
    mutant(5, 6, '1..2', 'std::iter::empty()', [6, 6]),
  ];
  const switched = inModule(
    'switches',
    `switches.withSwitches(${JSON.stringify(file)}, ${JSON.stringify(mutants)})`,
  ) as { text: string; alone: number[] };

  it('have each a copy of the body of their function, beside the original', () => {
    const bare = switched.text.replaceAll(/\/\*.*?\*\/|\s+/g, ' ').replaceAll(/ +/g, ' ');
    expect(bare).toContain(
      "fn first(x: u32) -> u32 { if crate::mutant_switch::is_on(1) { let brace = '{'; x - 1 } else if " +
        "crate::mutant_switch::is_on(3) { let brace = '{'; x + 2 } else { let brace = '{'; x + 1 } }",
    );
    expect(bare).toContain(
      'fn second(&self) -> bool { if crate::mutant_switch::is_on(2) { "}" != "{" } else { "}" == "{" } }',
    );
  });

  it('are left out where a copy would not compile', () => {
    expect(switched.alone).toEqual([4, 5]);
    expect(switched.text).toContain('const fn fixed() -> u32 { 1 }');
  });

  it('are found by the line of an error', () => {
    const lines = switched.text.split('\n').map((text, at) => ({ text, number: at + 1 }));
    const asked = JSON.stringify(lines.map(({ number }) => number));
    const found = inModule(
      'switches',
      `${asked}.map((line) => switches.mutantAt(${JSON.stringify(switched.text)}, line) ?? 0)`,
    ) as number[];
    const at = (part: string) => found[lines.findIndex(({ text }) => text.includes(part))];
    expect([
      at('/*here 1*/-'),
      at('/*here 3*/2'),
      at('/*here 2*/!='),
      at('const fn'),
      at('impl Thing'),
    ]).toEqual([1, 3, 2, 0, 0]);
  });
});

describe('the tests that reach a mutant of Rust', () => {
  it('run the quickest first, those of a program in a round together', () => {
    const reaches = [
      { program: 'engine', test: 'slow', seconds: 40, mutants: [7] },
      { program: 'lib', test: 'a::quick', seconds: 0.1, mutants: [3, 7] },
      { program: 'lib', test: 'b::other', seconds: 0.1, mutants: [3] },
      { program: 'engine', test: 'quick', seconds: 0.2, mutants: [7] },
      { program: 'lib', test: 'c::quick', seconds: 1, mutants: [7] },
      { program: 'lib', test: 'd::middle', seconds: 6, mutants: [7] },
    ];
    expect(inModule('reach', `reach.roundsOf(${JSON.stringify(reaches)}, 7)`)).toEqual([
      { program: 'lib', tests: ['a::quick', 'c::quick'], seconds: 1.1 },
      { program: 'engine', tests: ['quick'], seconds: 0.2 },
      { program: 'lib', tests: ['d::middle'], seconds: 6 },
      { program: 'engine', tests: ['slow'], seconds: 40 },
    ]);
    expect(inModule('reach', `reach.roundsOf(${JSON.stringify(reaches)}, 8)`)).toEqual([]);
  });
});
