/** The addresses on the web that pages name. Most machines of tests reach few of them: those are reported, and no fault. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';
import { linksOf } from '../../docs/links.mjs';
import { markdownFiles } from '../../docs/pages.mjs';

const LIMIT_MS = 10_000;
/** What a server answers where a page is gone for good. Others refuse programs, or are out of order. */
const GONE = [404, 410];

/**
 * Asks for each address once.
 *
 * @returns {Promise<string[]>} a line for each that could not be asked for, with the reason, and one on the others
 * @throws BuildError with a line for each that is gone
 */
export async function askAddresses() {
  const asked = await Promise.all([...addresses()].map(([address, file]) => ask(address, file)));
  const gone = asked.filter(({ isGone }) => isGone).map(({ line }) => line);
  if (gone.length > 0) throw new BuildError(`Addresses of pages that are gone:\n${gone.join('\n')}`);
  const skipped = asked.filter(({ isThere }) => !isThere).map(({ line }) => `skipped: ${line}`);
  return [`${asked.length - skipped.length} of ${asked.length} addresses on the web are there`, ...skipped];
}

/** Each address without its anchor, with a file that names it. */
function addresses() {
  const found = new Map();
  for (const file of markdownFiles()) {
    for (const { href } of linksOf(readFileSync(join(root, file), 'utf8'))) {
      if (/^https?:/.test(href)) found.set(href.split('#')[0], file);
    }
  }
  return found;
}

async function ask(address, file) {
  const name = `${address} of ${file}`;
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(LIMIT_MS) });
    await response.body?.cancel();
    const { status, ok } = response;
    return { line: `${name}: ${status}`, isThere: ok, isGone: GONE.includes(status) };
  } catch (error) {
    const reason = error.cause?.code ?? error.name;
    return { line: `${name}: not reached (${reason})`, isThere: false, isGone: false };
  }
}
