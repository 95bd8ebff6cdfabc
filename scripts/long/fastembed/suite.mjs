/**
 * The suite `bm25-vectors`: vectors of `qdrant/bm25` beside those of fastembed, with which clients of Qdrant make them. The
 * stop words are those of the crate that the engine has its own from (NLTK's), because fastembed's lists are a download.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BuildError, mustRun, output } from '../../build/process.mjs';
import { fingerprint, isCurrent, remember, root } from '../../build/tree.mjs';

const here = join('scripts', 'long', 'fastembed');
const folder = join(root, '.build', 'fastembed');
const python = join(folder, 'venv', 'bin', 'python');
const requirements = join(here, 'requirements.txt');
/** fastembed leaves longer tokens out. */
const MAX_TOKEN_LEN = 40;
const PAGE = 500;

/** @returns {Promise<string>} what was compared */
export async function compareBm25Vectors() {
  await prepareFastembed();
  const out = join(folder, 'vectors.json');
  await mustRun('fastembed-vectors', python, [join(root, here, 'vectors.py'), await stopWordFiles(), out]);
  const expected = JSON.parse(readFileSync(out, 'utf8'));
  const differences = await differencesFrom(expected);
  const languages = Object.keys(expected).filter((language) => !OTHERWISE.has(language));
  const wrong = differences.filter(({ language }) => languages.includes(language));
  if (wrong.length > 0) throw new BuildError(wrong.map(shown).join('\n'));
  const texts = languages.reduce((sum, language) => sum + expected[language].length, 0);
  const others = differences.map(shown).join('\n');
  return `${texts} texts of ${languages.length} languages have the vectors of fastembed\n${others}`;
}

/** Languages whose vectors are known to differ, and why: docs/models.md has it. */
const OTHERWISE = new Map();

async function prepareFastembed() {
  const version = await output('python3', ['--version']);
  if (version === null) throw new BuildError('bm25-vectors: needs python3.');
  const digest = fingerprint([requirements], undefined, [version]);
  if (existsSync(python) && isCurrent('fastembed', digest)) return;
  rmSync(folder, { recursive: true, force: true });
  await mustRun('fastembed-venv', 'python3', ['-m', 'venv', join(folder, 'venv')]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  await mustRun('fastembed-pip', python, pip);
  remember('fastembed', digest);
}

/** A folder with a list of stop words for each language, as fastembed reads it. */
async function stopWordFiles() {
  const metadata = await output('cargo', ['metadata', '--format-version', '1', '--locked']);
  const crate = JSON.parse(metadata ?? '{"packages":[]}').packages.find(({ name }) => name === 'stop-words');
  if (crate === undefined) throw new BuildError('bm25-vectors: cargo knows no crate stop-words.');
  const lists = join(dirname(crate.manifest_path), 'src', 'nltk');
  const model = join(folder, 'model');
  mkdirSync(model, { recursive: true });
  for (const language of readdirSync(lists))
    copyFileSync(join(lists, language), join(model, `${language}.txt`));
  return model;
}

/**
 * The texts of which KithDB makes other vectors, by language.
 *
 * @param {Record<string, {text: string, document: Record<string, number>, query: number[]}[]>} expected
 */
async function differencesFrom(expected) {
  const { open } = createRequire(import.meta.url)(join(root, 'dist', 'index.js'));
  const data = mkdtempSync(join(tmpdir(), 'kithdb-bm25-'));
  const db = await open(data);
  try {
    const found = [];
    for (const [language, texts] of Object.entries(expected)) {
      const different = await differentTexts(db, language, texts);
      if (different.length > 0) found.push({ language, different, of: texts.length });
    }
    return found;
  } finally {
    await db.close();
    rmSync(data, { recursive: true });
  }
}

async function differentTexts(db, language, texts) {
  await db.createCollection(language, { sparse_vectors: { words: {} } });
  const options = { language, max_token_len: MAX_TOKEN_LEN };
  const points = texts.map(({ text }, id) => ({
    id,
    vector: { words: { text, model: 'qdrant/bm25', options } },
  }));
  const different = [];
  for (let from = 0; from < points.length; from += PAGE) {
    const some = points.slice(from, from + PAGE);
    await db.upsert(language, { points: some });
    const ids = some.map(({ id }) => id);
    const stored = await db.retrieve(language, { ids, with_vector: true });
    for (const { id, vector } of stored) {
      const wrong = difference(texts[id].document, vector.words);
      if (wrong !== undefined) different.push({ id, wrong });
    }
  }
  return different;
}

/** How a vector differs; undefined where it does not. */
function difference(expected, { indices, values }) {
  const missing = new Map(
    Object.entries(expected).map(([index, value]) => [Number(index), Math.fround(value)]),
  );
  const more = [];
  const otherwise = [];
  indices.forEach((index, at) => {
    const value = missing.get(index);
    missing.delete(index);
    if (value === undefined) more.push(index);
    else if (value !== Math.fround(values[at])) otherwise.push([index, value, values[at]]);
  });
  if (missing.size + more.length + otherwise.length === 0) return undefined;
  return { missing: [...missing.keys()], more, otherwise };
}

function shown({ language, different, of }) {
  const [{ id, wrong }] = different;
  return `${language}: ${different.length} of ${of} texts, the first is ${id}: ${JSON.stringify(wrong)}`;
}
