/** The dashboard as a picture: its panels in their grid, drawn with uPlot in the Chromium of the system. */
import { join } from 'node:path';
import { root } from '../../build/tree.mjs';
import { launchChromium, whyNoChromium } from '../../chromium.mjs';

const WIDTH = 1280;
const page = join(root, 'scripts', 'long', 'dashboard', 'picture.html');
const uplot = join(root, 'node_modules', 'uplot', 'dist');

/**
 * @param {import('./panels.mjs').Drawn[]} panels
 * @param {string} path of the picture
 * @returns {Promise<string>} where the picture is, or why there is none
 */
export async function drawDashboard(panels, path) {
  if (whyNoChromium !== undefined) return `no picture: ${whyNoChromium}`;
  const browser = await launchChromium();
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
