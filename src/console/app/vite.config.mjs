import { defineConfig } from 'vite';

/** Where the server has the files, relative to the page at `/console`: the server may be below a path of a proxy. */
const FOLDER = 'console/';

export default defineConfig({
  base: './',
  // One folder without levels: the server looks names up in it.
  build: {
    assetsDir: '',
    target: 'es2022',
    // What the style sheet is written for: light-dark() stays as it is.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A data URL would need an exception of the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [
    {
      name: 'links-of-the-page',
      generateBundle: {
        order: 'post',
        handler(_options, bundle) {
          const page = bundle['index.html'];
          page.source = page.source.replaceAll(/(href|src)="\.\//g, `$1="./${FOLDER}`);
        },
      },
    },
  ],
});
