/** The Chromium of the system, for benchmarks of the console and the picture of the dashboard. */
import { existsSync } from 'node:fs';

/** Where systems have it; the variable names another one. */
const PLACES = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const ARGUMENTS = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const path = PLACES.find((place) => place !== undefined && existsSync(place));

/** Why there is no browser; undefined where there is one. */
export const whyNoChromium = path === undefined ? 'there is no Chromium; CHROMIUM names one' : undefined;

/** Starts it. @param {string[]} [more] arguments */
export async function launchChromium(more = []) {
  if (path === undefined) throw new Error(whyNoChromium);
  // Not before the packages are installed.
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath: path, args: [...ARGUMENTS, ...more] });
}
