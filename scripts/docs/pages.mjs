/** Which Markdown files there are, and where the site has them. */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../build/tree.mjs';

/** Where the repository can be read: links from the site to files that are not on it go there. */
export const REPOSITORY = 'https://github.com/kithdb/kithdb/blob/main/';

/** Folders of the site that `npm run docs` makes: copies of pages at the root, and the HTTP reference. */
export const GENERATED = ['docs/project', 'docs/http'];

/** Pages outside of `docs/` that the site has too, and what they are called there. */
export const ROOT_PAGES = {
  'ARCHITECTURE.md': 'docs/project/architecture.md',
  'CONTRIBUTING.md': 'docs/project/contributing.md',
  'SECURITY.md': 'docs/project/security.md',
  'CHANGELOG.md': 'docs/project/changelog.md',
};

/** Where a page is on the site, below `docs/`, if it is not where its file is. */
export const REWRITES = {
  'home.md': 'index.md',
  // The page about the index of vectors is older than the site.
  'index.md': 'vector-index.md',
  'notebook/README.md': 'notebook/index.md',
};

/** Folders with Markdown of our own, apart from the root. */
const FOLDERS = ['docs', 'bench', 'data', 'fuzz'];

/** All Markdown files of the repository by their path from its root, without what `npm run docs` makes. */
export function markdownFiles() {
  const atRoot = readdirSync(root).filter((name) => name.endsWith('.md'));
  return [...atRoot, ...FOLDERS.flatMap((folder) => [...below(join(root, folder))])];
}

/** The pages that the site is made of, by their path from the root of the repository. */
export function sitePages() {
  return markdownFiles().filter((path) => path.startsWith('docs/') || path in ROOT_PAGES);
}

function* below(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const name = relative(root, path).replaceAll('\\', '/');
    if (entry.isDirectory()) {
      const isOurs = !GENERATED.includes(name) && !['node_modules', 'target', 'corpus'].includes(entry.name);
      if (isOurs) yield* below(path);
    } else if (name.endsWith('.md')) yield name;
  }
}
