/**
 * Links of pages, which are written so that they work where the repository is read, as links of the site: to the page
 * of the site where it has the file, else to the repository.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path/posix';
import { root } from '../../scripts/build/tree.mjs';
import { REPOSITORY, REWRITES, ROOT_PAGES } from '../../scripts/docs/pages.mjs';

/** Makes the renderer of Markdown translate links before VitePress looks at them. */
export function translateLinks(md) {
  const inner = md.renderer.rules.link_open;
  md.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const href = tokens[at].attrGet('href');
    const file = env.realPath ?? env.path;
    if (href !== null && file !== undefined) {
      const page = relative(root, file);
      tokens[at].attrSet('href', siteLink(href, page));
      nameTarget(tokens[at + 1], join(dirname(page), href.split('#')[0]));
    }
    return inner ? inner(tokens, at, options, env, self) : self.renderToken(tokens, at, options);
  };
}

/** Where the text of a link is the name of a file, a reader of the site is told the title of that page. */
function nameTarget(text, target) {
  const isFileName = text?.type === 'text' && /^[\w./-]+\.md$/.test(text.content);
  if (!isFileName || !target.startsWith('docs/') || !existsSync(join(root, target))) return;
  const title = /^# (.+)$/m.exec(readFileSync(join(root, target), 'utf8'))?.[1];
  if (title !== undefined) text.content = title.replaceAll('`', '');
}

/**
 * @param {string} href as the page has it
 * @param {string} page its path from the root of the repository
 */
export function siteLink(href, page) {
  if (/^([a-z][a-z+.-]*:|\/|#)/i.test(href)) return href;
  const [path, anchor] = href.split('#');
  const target = join(dirname(page), path);
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const file = ROOT_PAGES[target] ?? target;
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return `${REPOSITORY}${target}${hash}`;
  const name = file.slice('docs/'.length);
  if (!existsSync(join(root, file))) throw new Error(`${page}: ${href}: no such page`);
  return `/${REWRITES[name] ?? name}${hash}`;
}
