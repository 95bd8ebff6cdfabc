/** The documentation site: `npm run docs` builds it, `npm run docs:dev` serves it while pages are written. */
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { root } from '../../scripts/build/tree.mjs';
import { REPOSITORY, REWRITES } from '../../scripts/docs/pages.mjs';
import { slugOf } from '../../scripts/docs/slugs.mjs';
import { translateLinks } from './links.mjs';
import { sidebar } from './sidebar.mjs';

export default defineConfig({
  title: 'KithDB',
  description: 'A vector database that is durable by default, in a server or in your own process.',
  lang: 'en',
  srcDir: '../docs',
  outDir: join(root, '.build', 'site'),
  cacheDir: join(root, '.build', 'site-cache'),
  // Where the site is served below a path, as on GitHub Pages.
  base: process.env.KITHDB_SITE_BASE ?? '/',
  cleanUrls: false,
  rewrites: REWRITES,
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${process.env.KITHDB_SITE_BASE ?? '/'}mark.svg` }],
  ],
  markdown: {
    anchor: { slugify: slugOf },
    config: translateLinks,
    // Braces in the prose of pages are braces, and no attributes.
    attrs: { disable: true },
  },
  themeConfig: {
    logo: '/mark.svg',
    outline: { level: [2, 3] },
    sidebar,
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Guides', link: '/guides/filters' },
      { text: 'HTTP', link: '/http/' },
      { text: 'Configuration', link: '/configuration' },
      { text: 'Performance', link: '/performance' },
    ],
    search: {
      provider: 'local',
      options: {
        // Old measurements and planted faults would crowd out what is in force.
        _render: (source, env, md) => {
          const html = md.render(source, env);
          return /^(notebook\/20|faults\.)/.test(env.relativePath) ? '' : html;
        },
      },
    },
    footer: {
      message: 'Apache-2.0',
      copyright: `The pages are in <a href="${REPOSITORY}docs">the repository</a>.`,
    },
    docFooter: { prev: false, next: false },
  },
  vite: {
    publicDir: join(root, 'site', 'public'),
    server: { host: '127.0.0.1', fs: { allow: [root] } },
  },
});
