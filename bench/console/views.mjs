/** What a browser takes to show the first view of the console, and the Points page of a collection. */
import { median } from '../median.mjs';

/** In the page, before anything else: keeps what it painted and what moved. */
const WATCH = `(() => {
  window.seen = { painted: 0, shift: 0 };
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) window.seen.painted = startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) window.seen.shift += value;
  }).observe({ type: 'layout-shift', buffered: true });
})()`;

/** Milliseconds from now until something is in the page, in the page's own clock. */
const UNTIL = (selector, first) => `new Promise((resolve) => {
  const from = performance.now();
  ${first};
  const look = () => {
    if (document.querySelector(${JSON.stringify(selector)})) resolve(performance.now() - from);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

const SETTLED_MS = 500;

/**
 * The first view of an empty cache, of a page that lists the collections: until its largest part is painted, and how much it
 * moved by then and in the half second after it.
 */
export async function firstViews(browser, url, rounds) {
  const [paintedMs, shift] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 820 } });
    await context.addInitScript(WATCH);
    const page = await context.newPage();
    await page.goto(`${url}/console`);
    await page.locator('table.collections .status').last().waitFor();
    await page.waitForTimeout(SETTLED_MS);
    const seen = await page.evaluate('window.seen');
    paintedMs.push(seen.painted);
    shift.push(seen.shift);
    await context.close();
  }
  return { 'median milliseconds': Math.round(median(paintedMs)), 'most layout shift': Math.max(...shift) };
}

/** Until the points of a collection are shown, once its page is asked for. */
export async function pointPages(browser, url, names, rounds) {
  const took = Object.fromEntries(names.map((name) => [name, []]));
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      await page.goto(`${url}/console#/collections`);
      await page.locator('table.collections .status').last().waitFor();
      const place = JSON.stringify(`#/collections/${name}/points`);
      took[name].push(await page.evaluate(UNTIL('table.points tbody th', `location.hash = ${place}`)));
    }
  }
  await page.close();
  return Object.fromEntries(names.map((name) => [name, Math.round(median(took[name]))]));
}
