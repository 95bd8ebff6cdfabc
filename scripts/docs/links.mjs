/**
 * Links between the Markdown files of the repository: each names a file that is there, and a heading that is in it.
 * Addresses on the web are not asked for.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { root } from '../build/tree.mjs';
import { markdownFiles } from './pages.mjs';
import { anchorsOf, withoutFences } from './slugs.mjs';

/** @returns {string[]} a line for each link that leads nowhere: file, line, link, why */
export function brokenLinks() {
  return markdownFiles().flatMap((file) =>
    linksOf(readFileSync(join(root, file), 'utf8')).flatMap(({ href, line }) => {
      const problem = problemOf(href, file);
      return problem === undefined ? [] : [`${file}:${line}: ${href}: ${problem}`];
    }),
  );
}

/** The links and images of a page, without those in code. */
export function linksOf(markdown) {
  return withoutFences(markdown)
    .split('\n')
    .flatMap((text, at) => {
      const prose = text.replaceAll(/(`+)(?!`).*?[^`]\1(?!`)/g, '');
      const inline = [...prose.matchAll(/\]\(([^()\s]+)(?: "[^"]*")?\)/g)];
      const defined = [...prose.matchAll(/^\[[^\]]+\]: (\S+)/g)];
      const html = [...prose.matchAll(/\b(?:href|src|srcset)="([^"]+)"/g)];
      const frontmatter = [...prose.matchAll(/^ +(?:- )?(?:link|src): (\S+)$/g)];
      return [...inline, ...defined, ...html, ...frontmatter].map(([, href]) => ({ href, line: at + 1 }));
    });
}

function problemOf(href, file) {
  if (/^[a-z][a-z+.-]*:/i.test(href)) return undefined;
  const [path, anchor] = href.split('#');
  const target = path.startsWith('/') ? fromSiteRoot(path) : join(dirname(file), decodeURI(path));
  const name = normalize(path === '' ? file : target);
  if (name.startsWith('..')) return 'outside of the repository';
  if (!existsSync(join(root, name))) return 'no such file';
  if (anchor === undefined) return undefined;
  if (!name.endsWith('.md') || statSync(join(root, name)).isDirectory())
    return 'an anchor in what is no page';
  const anchors = anchorsOf(readFileSync(join(root, name), 'utf8'));
  return anchors.includes(decodeURIComponent(anchor)) ? undefined : 'no such heading';
}

/** A path from the root of the site, as its home page has them: a page, or a file of its own. */
function fromSiteRoot(path) {
  const own = join('site', 'public', path);
  return existsSync(join(root, own)) ? own : join('docs', path);
}
