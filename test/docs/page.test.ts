import { isAsPromised, promisedLines, snippetsOf } from './page';

const fence = '```';

function page(...lines: string[]): string {
  return lines.join('\n').replaceAll("'''", fence);
}

describe('the snippets of a page', () => {
  it('are its blocks that can be run, with what its comments say of them', () => {
    const snippets = snippetsOf(
      page(
        '<!-- test: save as a.js -->',
        '',
        "'''js",
        'one();',
        "'''",
        '<!-- test: continues -->',
        "'''js",
        'two();',
        "'''",
        "'''json",
        '{}',
        "'''",
        "'''sh",
        'node a.js',
        "'''",
        '<!-- test: prints among others -->',
        "'''text",
        'a … b',
        "'''",
        '<!-- test: skip because there is no cluster -->',
        "'''sh",
        'helm',
        "'''",
      ),
    );
    expect(snippets).toEqual([
      { language: 'js', code: 'one();\ntwo();', line: 4, name: 'a.js', stopsServer: false },
      {
        ...{ language: 'sh', code: 'node a.js', line: 14, stopsServer: false },
        expected: { text: 'a … b', isAll: false },
      },
      { language: 'sh', code: 'helm', line: 22, skipped: 'there is no cluster', stopsServer: false },
    ]);
  });

  it.each([
    ['a reason that is missing', ['<!-- test: skip because -->', "'''sh", "'''"]],
    ['a word that there is not', ['<!-- test: skipped -->', "'''sh", "'''"]],
    ['a comment about no block', ['<!-- test: prints -->', 'prose']],
    ['a comment of another form', ['<!--test: prints-->', "'''sh", "'''"]],
    ['an output of nothing', ['<!-- test: prints -->', "'''text", "'''"]],
    ['a block that is not run', ['<!-- test: save as a.json -->', "'''json", "'''"]],
    ['a block without an end', ["'''sh", 'true']],
  ])('refuse %s, and name the line', (_, lines) => {
    expect(() => snippetsOf(page(...lines))).toThrow(/^line \d+: /);
  });

  it('promise what they print, apart from white space', () => {
    expect(isAsPromised('{"a": [1, 2]}\n', { text: '{ "a":\n [1, …] }', isAll: true })).toBe(true);
    expect(isAsPromised('x {"a": 1}', { text: '{"a": 1}', isAll: true })).toBe(false);
    expect(isAsPromised('x {"a": 1} y', { text: '{"a": 1}', isAll: false })).toBe(true);
    expect(isAsPromised('{"a": 2}', { text: '{"a": 1}', isAll: false })).toBe(false);
    expect(promisedLines('print(1)  # → 1\nlog(2); // → 2 → 3')).toEqual(['1', '2', '3']);
  });
});
