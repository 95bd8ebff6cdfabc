/** Builds the site: pages that are generated, then everything as HTML, then a look at all links of the result. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { installPackages } from '../build/packages.mjs';
import { description } from '../build/openapi.mjs';
import { BuildError, mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { brokenLinksOf } from './html-links.mjs';
import { httpReference } from './http-reference.mjs';
import { installSitePackages, vitepress } from './packages.mjs';
import { GENERATED, ROOT_PAGES } from './pages.mjs';

/** Where the built site is. */
export const SITE = join(root, '.build', 'site');

/** @returns {Promise<string>} a line on the result */
export async function buildSite() {
  await preparePages();
  const [command, leading] = vitepress();
  await mustRun('site', command, [...leading, 'build', 'site']);
  const { pages, broken } = brokenLinksOf(SITE);
  if (broken.length > 0) throw new BuildError(`Links of the site that lead nowhere:\n${broken.join('\n')}`);
  return `${pages} pages are in ${relative(process.cwd(), SITE) || '.'}`;
}

/** Installs packages, and writes the pages that are made of other files. */
export async function preparePages() {
  // The reader of YAML is one of the product's packages, which are installed anew by `npm start` and `npm test` alone:
  // these compile sqlite3 afterwards.
  if (!existsSync(join(root, 'node_modules', 'yaml'))) await installPackages();
  await installSitePackages();
  for (const folder of GENERATED) rmSync(join(root, folder), { recursive: true, force: true });
  for (const [source, target] of Object.entries(ROOT_PAGES)) {
    write(target, moved(readFileSync(join(root, source), 'utf8'), dirname(target)));
  }
  const pages = httpReference(JSON.parse(await description()));
  for (const [name, text] of Object.entries(pages)) write(join('docs', 'http', name), text);
}

function write(path, text) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** A page of the root as one in another folder: its relative links begin there. */
function moved(markdown, folder) {
  return markdown.replaceAll(/\]\((?![a-z]+:|#)([^)\s]+)\)/g, (_, href) => {
    const [path, anchor] = href.split('#');
    const target = ROOT_PAGES[path] ?? path;
    const hash = anchor === undefined ? '' : `#${anchor}`;
    return `](${relative(folder, target)}${hash})`;
  });
}
