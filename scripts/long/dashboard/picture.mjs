/** The dashboard as a picture: its panels in their grid, drawn with uPlot in the Chromium of the system. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../build/tree.mjs';

/** Where systems have Chromium; the variable names another one. */
const PLACES = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const WIDTH = 1280;
const page = join(root, 'scripts', 'long', 'dashboard', 'picture.html');
const uplot = join(root, 'node_modules', 'uplot', 'dist');

/**
 * @param {import('./panels.mjs').Drawn[]} panels
 * @param {string} path of the picture
 * @returns {Promise<string>} where the picture is, or why there is none
 */
export async function drawDashboard(panels, path) {
  const executablePath = PLACES.find((place) => place !== undefined && existsSync(place));
  if (executablePath === undefined) return 'no picture: there is no Chromium; CHROMIUM names one';
  // Not before the packages are installed.
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-quic'] });
  try {
    const tab = await browser.newPage({ viewport: { width: WIDTH, height: 900 } });
    const faults = [];
    tab.on('pageerror', (error) => faults.push(error));
    await tab.goto(`file://${page}`);
    await tab.addStyleTag({ path: join(uplot, 'uPlot.min.css') });
    await tab.addScriptTag({ path: join(uplot, 'uPlot.iife.min.js') });
    await tab.evaluate(`drawPanels(${JSON.stringify(panels)})`);
    await tab.screenshot({ path, fullPage: true });
    if (faults.length > 0) throw faults[0];
    return path;
  } finally {
    await browser.close();
  }
}
