/** The links of a built site: each leads to a file of it, and each anchor to an element of that page. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * @param {string} folder of the built site
 * @returns {{pages: number, broken: string[]}} how many pages there are, and a line for each link that leads nowhere
 */
export function brokenLinksOf(folder) {
  const ids = new Map();
  const files = [...htmlFiles(folder)];
  const idsOf = (file) => {
    if (!ids.has(file)) ids.set(file, idsIn(readFileSync(file, 'utf8')));
    return ids.get(file);
  };
  const broken = files.flatMap((file) =>
    hrefsIn(readFileSync(file, 'utf8')).flatMap((href) => {
      const [path, anchor] = href.split('#');
      const target = fileOf(folder, file, path);
      if (!existsSync(target)) return [`${relative(folder, file)}: ${href}`];
      const isThere = !anchor || idsOf(target).has(decodeURIComponent(anchor));
      return isThere ? [] : [`${relative(folder, file)}: ${href}: no such anchor`];
    }),
  );
  return { pages: files.length, broken: [...new Set(broken)] };
}

function* htmlFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* htmlFiles(path);
    else if (entry.name.endsWith('.html') && entry.name !== '404.html') yield path;
  }
}

function fileOf(folder, from, path) {
  const base = process.env.KITHDB_SITE_BASE ?? '/';
  if (path === '') return from;
  const target = path.startsWith('/') ? join(folder, path.slice(base.length - 1)) : join(dirname(from), path);
  const isFolder = existsSync(target) && statSync(target).isDirectory();
  return isFolder ? join(target, 'index.html') : target;
}

function hrefsIn(html) {
  const hrefs = [...html.matchAll(/<(?:a|img)\b[^>]*?\s(?:href|src)="([^"]*)"/g)].map(([, href]) => href);
  return hrefs
    .map((href) => href.replaceAll('&amp;', '&'))
    .filter((href) => href !== '' && !/^([a-z][a-z+.-]*:|\/\/)/i.test(href));
}

function idsIn(html) {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id.replaceAll('&amp;', '&')));
}
