/** The description of the HTTP interface: `openapi/openapi.yaml` as the JSON that the server answers. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fingerprint, isCurrent, remember, root } from './tree.mjs';

const source = join('openapi', 'openapi.yaml');
const target = join(root, 'dist', 'openapi.json');

/** Whether `dist/openapi.json` was written from these sources. */
export function descriptionIsWritten() {
  return existsSync(target) && isCurrent('openapi', sourceDigest());
}

function sourceDigest() {
  return fingerprint([source, 'package.json']);
}

/** Writes `dist/openapi.json` if the description, or the version that it carries, changed since. */
export async function writeDescription() {
  if (descriptionIsWritten()) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, await description());
  remember('openapi', sourceDigest());
}

/**
 * The description as JSON. Pieces that only the YAML merges in are left out. Integers beyond 2^53 stay exact, which
 * `JSON.stringify` cannot do by itself.
 *
 * @returns {Promise<string>}
 */
export async function description() {
  // Not at the top: in a fresh clone the packages are installed after this module is loaded.
  const { parse } = await import('yaml');
  const text = readFileSync(join(root, source), 'utf8');
  const document = parse(text, { merge: true, intAsBigInt: true, maxAliasCount: -1 });
  delete document['x-pieces'];
  document.info.version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
  return JSON.stringify(document, (_key, value) => {
    if (typeof value !== 'bigint') return value;
    return Number.isSafeInteger(Number(value)) ? Number(value) : `exactly ${value}`;
  }).replaceAll(/"exactly (-?\d+)"/g, '$1');
}
