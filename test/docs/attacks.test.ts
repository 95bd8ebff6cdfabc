import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inScript } from './script';

const ROOT = join(__dirname, '..', '..');

/** The commands of docs/attacks.md, by the number of their row. */
const rows = new Map(
  [...readFileSync(join(ROOT, 'docs', 'attacks.md'), 'utf8').matchAll(/^\| (\d+) .*\|([^|]*)\|$/gm)].map(
    ([, number, commands = '']) => [
      Number(number),
      [...commands.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command.split(' ')),
    ],
  ),
);

describe('the table of attacks', () => {
  const scenarios = inScript('bench/load/scenarios/index.mjs', 'Object.keys(script.SCENARIOS)') as string[];
  const suites = inScript('scripts/long/suites.mjs', 'script.DEFAULT_SUITES') as string[];
  const engine = join(ROOT, 'crates', 'engine');
  const exists: Readonly<Record<string, (name: string) => boolean>> = {
    'bench:load': (names) => names.split(',').every((name) => scenarios.includes(name)),
    jest: (name) => existsSync(join(ROOT, 'test', `${name.replace(/\.test$/, '')}.test.ts`)),
    cargo: (name) =>
      ['', '.rs'].some((ending) => existsSync(join(engine, 'tests', name + ending))) || name === '--lib',
    long: (name) => suites.includes(name),
  };

  it('has a row for each, with at least one command', () => {
    expect([...rows.keys()]).toEqual(Array.from({ length: 25 }, (_, at) => at + 1));
    expect([...rows.values()].filter((commands) => commands.length === 0)).toEqual([]);
  });

  it('names scenarios, suites and files of tests that are there', () => {
    const missing = [...rows].flatMap(([number, commands]) =>
      commands.flatMap(([tool = '', ...names]) => {
        const words =
          tool === 'cargo' ? [names[0] === '--test' ? (names[1] ?? '') : (names[0] ?? '')] : names;
        return words
          .filter((name) => exists[tool]?.(name) !== true)
          .map((name) => `${number}: ${tool} ${name}`);
      }),
    );
    expect(missing).toEqual([]);
  });
});
