import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  chromium,
  type Locator,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import type { Missing } from '../missing';

/** Where systems have Chromium; the variable names another one. */
const places = JSON.parse(
  readFileSync(join(__dirname, '..', '..', 'scripts', 'chromium-places.json'), 'utf8'),
) as readonly string[];

const chromiumPath = [process.env['CHROMIUM'], ...places].find(
  (path) => path !== undefined && existsSync(path),
);

/** Why no browser can be started. */
export const isNoChromium: Missing =
  chromiumPath === undefined ? 'there is no Chromium; CHROMIUM names one' : undefined;

const ARGUMENTS = [
  ...['--no-sandbox', '--disable-quic', '--no-first-run'],
  // Graphics in software, as machines without a processor for it have them.
  ...['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath ?? '', args: ARGUMENTS, timeout: 100_000 });
}

/** A page, and what it must not have done. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, what the content security policy refused, and requests to other origins. */
  readonly faults: readonly string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  prepare: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, ...options });
  context.setDefaultTimeout(100_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) faults.push(message.text());
  });
  context.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== new URL(url).origin) {
      faults.push(`a request to ${request.url()}`);
    }
  });
  await prepare(page);
  await page.goto(`${url}/console`);
  return { page, context, faults };
}

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

/** What axe-core finds wrong with a page, one line each. */
export async function accessibilityViolations(page: Page): Promise<readonly string[]> {
  // The content security policy of the page does not hold for what a debugger evaluates.
  await page.evaluate(AXE);
  const violations = await page.evaluate<readonly Violation[]>(
    '(async () => (await axe.run({ preload: false })).violations)()',
  );
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  );
}

/** What a page did since it was opened. */
export interface FirstView {
  /** Milliseconds from the navigation until the largest part of the page was painted. */
  readonly paintedMs: number;
  /** The sum of the scores of all layout shifts. */
  readonly shift: number;
}

/** Watches a page that has been opened, without input of a user, from its beginning. */
export async function firstViewOf(page: Page): Promise<FirstView> {
  const { painted, shifts } = await page.evaluate<{ painted: number[]; shifts: number[] }>(`(async () => {
    const entriesOf = (type, value) => {
      const found = [];
      new PerformanceObserver((list) => found.push(...list.getEntries().map(value))).observe({ type, buffered: true });
      return found;
    };
    const painted = entriesOf('largest-contentful-paint', ({ startTime }) => startTime);
    const shifts = entriesOf('layout-shift', ({ value }) => value);
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    // A busy machine shows a frame, and so reports it, long after the page has drawn it.
    for (let waited = 0; painted.length === 0 && waited < 60000; waited += 50) await sleep(50);
    // Entries of the past come in a task of their own, those of the last frames with the next ones.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    await sleep(300);
    return { painted, shifts };
  })()`);
  return { paintedMs: painted.at(-1) ?? Infinity, shift: shifts.reduce((sum, value) => sum + value, 0) };
}

/** How many different colours a part of the page shows: what is on a canvas of WebGL cannot be read from within. */
export async function coloursOf(page: Page, part: Locator): Promise<number> {
  const picture = (await part.screenshot()).toString('base64');
  return page.evaluate<number>(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${picture}';
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  })()`);
}

/** Goes to a place of the console. */
export async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
}

/** Clicks a point of the map that is drawn, whichever is met first; gives its id. */
export async function clickPoint(page: Page): Promise<string> {
  const box = (await page.locator('canvas.map').boundingBox())!;
  const tip = page.locator('.map-tip');
  for (let y = 20; y < box.height; y += 20) {
    for (let x = 20; x < box.width; x += 20) {
      await page.mouse.move(box.x + x, box.y + y);
      if ((await tip.count()) === 0) continue;
      const [id = ''] = (await tip.innerText()).split(' · ');
      await page.mouse.down();
      await page.mouse.up();
      return id;
    }
  }
  throw new Error('There is no point on the map');
}
