/**
 * The suite `site`: the site is built, which checks its own links; a browser opens pages of it, wide and narrow, in both
 * schemes; and the addresses on the web that pages name are asked for, where the machine reaches them.
 */
import { say } from '../../build/process.mjs';
import { buildSite, SITE } from '../../docs/build.mjs';
import { whyNoChromium } from '../../chromium.mjs';
import { askAddresses } from './addresses.mjs';
import { lookAtPages } from './browser.mjs';

/** @returns {Promise<string | {skipped: string}>} what was seen, or why no browser could look */
export async function checkSite() {
  const built = await buildSite();
  const asked = await askAddresses();
  asked.forEach((line) => say(`site: ${line}`));
  if (whyNoChromium !== undefined)
    return { skipped: `${built}, but no browser opened them: ${whyNoChromium}` };
  return [built, ...asked, await lookAtPages(SITE)].join('\n');
}
