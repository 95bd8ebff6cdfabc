import { inScript } from './script';

describe('links of the pages', () => {
  it('each lead to a file and a heading that are there', () => {
    expect(inScript('scripts/docs/links.mjs', 'script.brokenLinks()')).toEqual([]);
  });

  it('are found wherever a page can have one, and not in code', () => {
    const page = [
      '[one](a.md) and ![two](b.svg "title"), `[none](c.md)`',
      '```md',
      '[none](d.md)',
      '```',
      '<img src="e.svg">',
      '      link: /f.md',
    ].join('\n');
    expect(inScript('scripts/docs/links.mjs', `script.linksOf(${JSON.stringify(page)})`)).toEqual([
      { href: 'a.md', line: 1 },
      { href: 'b.svg', line: 1 },
      { href: 'e.svg', line: 5 },
      { href: '/f.md', line: 6 },
    ]);
  });

  it('name headings as GitHub does', () => {
    const page = '# What is `a_b`, really?\n## Same\n### Same\n```sh\n# none\n```\n## [A](b.md) – C4 *x*';
    expect(inScript('scripts/docs/slugs.mjs', `script.anchorsOf(${JSON.stringify(page)})`)).toEqual([
      'what-is-a_b-really',
      'same',
      'same-1',
      'a--c4-x',
    ]);
  });
});

describe('the table of contents of the site', () => {
  const links = inScript('site/.vitepress/sidebar.mjs', 'script.sidebarLinks()') as string[];
  const rewrites = inScript('scripts/docs/pages.mjs', 'script.REWRITES') as Record<string, string>;
  const rootPages = inScript('scripts/docs/pages.mjs', 'script.ROOT_PAGES') as Record<string, string>;
  const pages = (inScript('scripts/docs/pages.mjs', 'script.sitePages()') as string[])
    .map((path) => (rootPages[path] ?? path).replace('docs/', ''))
    .map((name) => (rewrites[name] ?? name).replace(/(?:(?<=^|\/)index)?\.md$/, ''))
    .map((name) => `/${name}`);

  it('has every page but the home page and the entries of the notebook', () => {
    const expected = pages.filter((link) => link !== '/' && !/^\/notebook\/./.test(link));
    expect(links.filter((link) => !link.startsWith('/http/')).sort()).toEqual(expected.sort());
  });
});
