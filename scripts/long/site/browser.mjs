/* global document, getComputedStyle, innerWidth -- `measure` runs in pages */
/** A browser's look at pages of the built site: errors, missing files, text that is wider than the window. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';
import { launchChromium } from '../../chromium.mjs';
import { serveFolder } from './server.mjs';

const PICTURES = join(root, '.build', 'site-pictures');
/** One page of each kind: what their pictures are called, and where they are on the site. */
const PAGES = {
  home: '',
  'quick-start': 'quick-start.html',
  filters: 'guides/filters.html',
  http: 'http/points.html',
  configuration: 'configuration.html',
};
const SCHEMES = ['light', 'dark'];
const WIDTHS = [390, 1280];
const HEIGHT = 844;
/** The longest picture: more of a page shows nothing new, and makes the text unreadable where a picture is shown whole. */
const MAX_HEIGHT = 2400;
const LIMIT_MS = 60_000;

/**
 * Opens each page in both schemes, narrow and wide, and keeps pictures in `.build/site-pictures`.
 *
 * @param {string} folder of the built site
 * @returns {Promise<string>} a line on what was seen
 * @throws BuildError with a line for each thing that is wrong
 */
export async function lookAtPages(folder) {
  rmSync(PICTURES, { recursive: true, force: true });
  mkdirSync(PICTURES, { recursive: true });
  const site = await serveFolder(folder);
  const browser = await launchChromium();
  const faults = [];
  let looks = 0;
  try {
    for (const [name, path] of Object.entries(PAGES)) {
      for (const colorScheme of SCHEMES) {
        for (const width of WIDTHS) {
          const look = `${name}-${colorScheme}-${width}`;
          const found = await lookAt(browser, site.url, path, { colorScheme, width, look });
          faults.push(...found.map((fault) => `${look}: ${fault}`));
          looks += 1;
        }
      }
    }
  } finally {
    await browser.close();
    await site.close();
  }
  if (faults.length > 0)
    throw new BuildError(`What a browser finds wrong with the site:\n${faults.join('\n')}`);
  return `${looks} pictures of pages are in .build/site-pictures`;
}

async function lookAt(browser, url, path, { colorScheme, width, look }) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: HEIGHT } });
  context.setDefaultTimeout(LIMIT_MS);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(`an error of a script: ${error.message}`));
  page.on('requestfailed', (request) => {
    if (request.url().startsWith(url)) faults.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on('response', (response) => {
    const isBad = response.url().startsWith(url) && response.status() >= 400;
    if (isBad) faults.push(`${response.url()}: ${response.status()}`);
  });
  await page.goto(url + path, { waitUntil: 'networkidle' });
  faults.push(...(await faultsOfLayout(page, colorScheme)));
  const found = [...faults];
  const height = Math.min(await page.evaluate('document.documentElement.scrollHeight'), MAX_HEIGHT);
  // Not by a window that is scrolled: what stays in its place would be in the first part of the picture alone.
  await page.setViewportSize({ width, height: Math.max(height, HEIGHT) });
  await page.screenshot({ path: join(PICTURES, `${look}.png`) });
  // What the browser still fetches ahead ends with it, and is no fault.
  await context.close();
  return found;
}

/** A page that scrolls sideways, and one that has not the scheme that the system asks for. */
async function faultsOfLayout(page, colorScheme) {
  const { isDark, inner, scroll, widest } = await page.evaluate(measure);
  const faults = [];
  if (isDark !== (colorScheme === 'dark')) faults.push(`it is not ${colorScheme}`);
  if (scroll > inner)
    faults.push(`it is ${scroll} pixels wide in a window of ${inner}: ${widest.join('; ')}`);
  return faults;
}

/** Runs in the page: its widths, and what sticks out of the window without being in something that scrolls. */
function measure() {
  const { documentElement } = document;
  const scrolls = (element) =>
    element !== null && (getComputedStyle(element).overflowX !== 'visible' || scrolls(element.parentElement));
  const sticksOut = (element) =>
    element.getBoundingClientRect().right > innerWidth && !scrolls(element.parentElement);
  const named = (element) =>
    `${element.localName}.${element.className} "${element.textContent.slice(0, 40)}"`;
  return {
    isDark: documentElement.classList.contains('dark'),
    inner: innerWidth,
    scroll: documentElement.scrollWidth,
    widest: [...document.body.querySelectorAll('*')].filter(sticksOut).slice(0, 3).map(named),
  };
}
