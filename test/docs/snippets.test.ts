import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { whenThereIsPython } from '../clients/python';
import { ServerHere } from '../operations/server-here';
import { isSampled } from '../sample';
import { isAsPromised, promisedLines, snippetsOf, type Snippet } from './page';
import { Shell } from './shell';

const root = join(__dirname, '..', '..');
const runsSlowOnes = process.env['SLOW_SNIPPETS'] !== undefined;

/** What a user runs first. Of the other pages a normal run takes one in three; `npm run test:long -- cases` takes all. */
const ALWAYS = ['README.md', 'docs/quick-start.md'];

/** The README, CONTRIBUTING, and every page of docs/ with something to run. */
const pages = ['README.md', 'CONTRIBUTING.md', ...markdownIn(join(root, 'docs'))]
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  .map(({ path, text }) => ({ path, text, snippets: snippetsOf(text) }))
  .filter(({ snippets }) => snippets.some(isRun));

function markdownIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    // The notebook keeps what was true on its date; the others are what npm run docs makes of other files.
    if (entry.isDirectory()) return /^(notebook|http|project)$/.test(entry.name) ? [] : markdownIn(path);
    return entry.name.endsWith('.md') ? [relative(root, path)] : [];
  });
}

function isRun({ skipped, slow }: Snippet): boolean {
  return skipped === undefined && (slow === undefined || runsSlowOnes);
}

/** Runs what a page says in its order, and gives a line for each thing that is otherwise. */
async function differencesOf({ path, text, snippets }: (typeof pages)[number]): Promise<string[]> {
  const around = mkdtempSync(join(tmpdir(), 'kithdb-page-'));
  const folder = join(around, 'clone');
  mkdirSync(folder);
  const needsServer = /127\.0\.0\.1:6363|npm run example/.test(text);
  const server = needsServer ? await ServerHere.start(join(folder, 'kithdb-data')) : undefined;
  const shell = new Shell(folder, server?.url);
  let isServing = needsServer;
  const differences: string[] = [];
  try {
    for (const snippet of snippets.filter(isRun)) {
      if (snippet.stopsServer && isServing) {
        await server?.stop();
        isServing = false;
      }
      const problem = await problemOf(snippet, shell).catch((error: unknown) => (error as Error).message);
      if (problem !== undefined) differences.push(`${path}:${snippet.line}: ${problem}`);
      if (shell.hasEnded) break;
    }
  } finally {
    await shell.end();
    if (isServing) await server?.stop();
    differences.push(
      ...optionalIn(around).map((place) => `${path}: it installs ${place}, which is optional`),
    );
    rmSync(around, { recursive: true, force: true });
  }
  return differences;
}

/** What an installation of kithdb must not have: 200 MB that few need, and a script. The clone has it for its types. */
function optionalIn(around: string): string[] {
  return readdirSync(around)
    .filter((name) => name !== 'clone')
    .flatMap((name) =>
      ['onnxruntime-node', '@kithdb/models', '@kithdb/mcp'].map((one) => join(name, 'node_modules', one)),
    )
    .filter((place) => existsSync(join(around, place)));
}

async function problemOf(snippet: Snippet, shell: Shell): Promise<string | undefined> {
  const printed = await outputOf(snippet, shell);
  const promised = promisedLines(snippet.language === 'sh' || snippet.name !== undefined ? '' : snippet.code);
  const expected =
    snippet.expected ?? (promised.length > 0 ? { text: promised.join('\n'), isAll: true } : undefined);
  if (expected === undefined || isAsPromised(printed, expected)) return undefined;
  return `it must print\n${expected.text}\nand printed\n${printed}`;
}

async function outputOf({ language, code, name, line }: Snippet, shell: Shell): Promise<string> {
  if (name !== undefined) {
    shell.save(name, code);
    return '';
  }
  if (language === 'sh') return shell.run(code);
  const [file, command] = language === 'js' ? [`line-${line}.mjs`, 'node'] : [`line-${line}.py`, 'python3'];
  shell.save(file, code);
  return shell.run(`${command} ${file}`);
}

describe('what a page says to run works, and prints what the page says', () => {
  for (const page of pages.filter(({ path }, at) => ALWAYS.includes(path) || isSampled(at, 3))) {
    const usesPython = page.snippets.some(
      ({ language, code }) => language === 'python' || code.includes('python3'),
    );
    const test = usesPython ? whenThereIsPython : it;
    test(page.path, async () => {
      expect(await differencesOf(page)).toEqual([]);
    });
  }
});
