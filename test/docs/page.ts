/**
 * What a page says to do: its fenced blocks of `sh`, `js` and `python` in their order. Comments before a block say more:
 *
 * - `<!-- test: skip because REASON -->`: it is not run.
 * - `<!-- test: slow because REASON -->`: it runs with SLOW_SNIPPETS alone, as `npm run test:long -- snippets` sets it.
 * - `<!-- test: save as NAME -->`: it is a file, which later blocks run.
 * - `<!-- test: continues -->`: it belongs to the program of the block before it.
 * - `<!-- test: prints -->`: it is all that the block before it prints. `…` stands for anything.
 * - `<!-- test: prints among others -->`: the same, with more before and behind it.
 * - `<!-- test: stop the server -->`: the server of the page ends before the block.
 */

export type Language = 'sh' | 'js' | 'python';

export interface Snippet {
  readonly language: Language;
  readonly code: string;
  /** The line in the page of the first line of the code. */
  readonly line: number;
  readonly name?: string;
  readonly skipped?: string;
  readonly slow?: string;
  readonly stopsServer: boolean;
  /** What it must print, and whether that is all. */
  readonly expected?: { readonly text: string; readonly isAll: boolean };
}

interface Block {
  readonly language: string;
  readonly code: string;
  readonly line: number;
  readonly directives: string[];
}

const LANGUAGES = new Set(['sh', 'js', 'python']);

/** @throws Error that names the line of a comment that is not understood, or that says nothing about a block */
export function snippetsOf(markdown: string): Snippet[] {
  const snippets: Snippet[] = [];
  for (const { language, code, line, directives } of blocksOf(markdown)) {
    if (directives.includes('continues')) snippets.push(joined(snippets.pop(), code, line));
    else if (directives.some((directive) => directive.startsWith('prints')))
      snippets.push(expecting(snippets.pop(), code, directives, line));
    else if (LANGUAGES.has(language)) snippets.push(snippetOf({ language, code, line, directives }));
    else if (directives.length > 0) throw new Error(`line ${line}: a ${language} block is not run`);
  }
  return snippets;
}

function snippetOf({ language, code, line, directives }: Block): Snippet {
  const value = (pattern: RegExp) => directives.map((text) => pattern.exec(text)?.[1]).find(Boolean);
  const [name, skipped, slow] = [/^save as (\S+)$/, /^skip because (.{10,})$/, /^slow because (.{10,})$/].map(
    value,
  );
  const stopsServer = directives.includes('stop the server');
  const understood = [name, skipped, slow].filter(Boolean).length + (stopsServer ? 1 : 0);
  if (understood !== directives.length)
    throw new Error(`line ${line}: not understood: ${directives.join('; ')}`);
  return {
    language: language as Language,
    code,
    line,
    stopsServer,
    ...(name === undefined ? {} : { name }),
    ...(skipped === undefined ? {} : { skipped }),
    ...(slow === undefined ? {} : { slow }),
  };
}

function joined(before: Snippet | undefined, code: string, line: number): Snippet {
  if (before === undefined) throw new Error(`line ${line}: nothing to continue`);
  return { ...before, code: `${before.code}\n${code}` };
}

function expecting(before: Snippet | undefined, text: string, directives: string[], line: number): Snippet {
  const isAll = directives.includes('prints');
  if (before === undefined || (!isAll && !directives.includes('prints among others')))
    throw new Error(`line ${line}: not understood, or nothing prints this`);
  return { ...before, expected: { text, isAll } };
}

/** The fenced blocks, each with the comments between it and what comes before it. */
function* blocksOf(markdown: string): Generator<Block> {
  const lines = markdown.split('\n');
  let directives: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    const directive = /^<!-- test: (.+) -->$/.exec(line)?.[1];
    const [, fence, language = ''] = /^(`{3,})(\w*)/.exec(line) ?? [];
    if (directive !== undefined) directives.push(directive);
    else if (fence !== undefined) {
      const end = lines.indexOf(fence, at + 1);
      if (end < 0) throw new Error(`line ${at + 1}: the block does not end`);
      yield { language, code: lines.slice(at + 1, end).join('\n'), line: at + 2, directives };
      directives = [];
      at = end;
    } else if (line.trim() !== '' && directives.length > 0)
      throw new Error(`line ${at + 1}: a block must follow`);
    else if (/^\s*<!--\s*test/.test(line)) throw new Error(`line ${at + 1}: not understood: ${line}`);
  }
}

/** Lines that `// →` and `# →` in a program say it prints. */
export function promisedLines(code: string): string[] {
  return [...code.matchAll(/(?:\/\/|#) → (.*)$/gm)].flatMap(([, promised]) => promised!.split(' → '));
}

/** Whether a text is what a page says, apart from white space. `…` stands for anything. */
export function isAsPromised(printed: string, expected: NonNullable<Snippet['expected']>): boolean {
  const packed = (text: string) => text.replaceAll(/\s+/g, '');
  const pattern = packed(expected.text)
    .split('…')
    .map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'))
    .join('.*');
  return new RegExp(expected.isAll ? `^${pattern}$` : pattern).test(packed(printed));
}
