/** The Chromium of the system, for benchmarks of the console and the picture of the dashboard. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where systems have it, for the tests of the console too; the variable names another one. */
const places = JSON.parse(readFileSync(join(import.meta.dirname, 'chromium-places.json'), 'utf8'));
const ARGUMENTS = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const path = [process.env.CHROMIUM, ...places].find((place) => place !== undefined && existsSync(place));

/** Why there is no browser; undefined where there is one. */
export const whyNoChromium = path === undefined ? 'there is no Chromium; CHROMIUM names one' : undefined;

/** Starts it. @param {string[]} [more] arguments */
export async function launchChromium(more = []) {
  if (path === undefined) throw new Error(whyNoChromium);
  // Not before the packages are installed.
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath: path, args: [...ARGUMENTS, ...more] });
}
