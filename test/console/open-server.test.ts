import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { until } from '../until';
import { firstViewOf, goTo, isNoChromium, openPage, startBrowser } from './browser';
import { walkEveryPage, walkSignedIn } from './every-page';
import { ask, expectGood, PASSWORD, signIn } from './session';

/** `all` looks at every page in each scheme and width, and keeps the pictures: `npm run test:long -- console`. */
const WALK = process.env['CONSOLE_WALK'] ?? 'one';

describeUnless(isNoChromium)('the console of a server without authentication', () => {
  let browser: Browser;
  let server: TemporaryServer;

  beforeAll(async () => {
    [browser, server] = await Promise.all([startBrowser(), startServer()]);
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  it('has a first view that does not move', async () => {
    const dense = { size: 3, distance: 'Cosine' };
    const [vectors, named] = [dense, { title: dense, description_of_the_product: dense, picture: dense }];
    await ask(server.url, 'PUT', '/collections/first', '', { vectors: named });
    await ask(server.url, 'PUT', '/collections/second', '', { vectors });
    const look = async () => {
      const { page, context } = await openPage(browser, server.url, {}, async (of) => {
        // What makes a row as high as it gets.
        await of.route('**/collections/first', async (route) => {
          const answer = await route.fetch();
          const body = (await answer.json()) as { result: object };
          Object.assign(body.result, {
            recall_estimate: { recall: 0.98, low: 0.97, high: 0.99, samples: 9, at: 1 },
          });
          await route.fulfill({ response: answer, json: body });
        });
      });
      await page.getByText('97 to 99 %').waitFor();
      await page.getByRole('row', { name: 'second' }).getByText('Up to date').waitFor();
      const view = await firstViewOf(page);
      // A page that does move is noticed, as soon as a busy browser has drawn it.
      await page.evaluate(
        "document.body.prepend(Object.assign(document.createElement('p'), { innerText: 'new' }))",
      );
      await until(async () => (await firstViewOf(page)).shift > 0, 100);
      await context.close();
      return view;
    };
    // The first view starts processes of the browser. `bench:browse` measures how long a view takes.
    for (const { shift, paintedMs } of [await look(), await look()]) {
      expect([shift, Number.isFinite(paintedMs)]).toEqual([0, true]);
    }
    for (const name of ['first', 'second']) await ask(server.url, 'DELETE', `/collections/${name}`, '');
  });

  it('is not shown in a page of another origin', async () => {
    const framing = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<iframe src="${server.url}/console"></iframe>`);
    });
    await new Promise<void>((resolve) => framing.listen(0, '127.0.0.1', resolve));
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${(framing.address() as AddressInfo).port}/`);
      const [, frame] = page.frames();
      expect(await frame?.locator('#app').count()).toBe(0);
      await page.close();
    } finally {
      framing.close();
    }
  });

  it('can be walked with the keyboard alone', async () => {
    const { page, context } = await openPage(browser, server.url);
    await page.getByRole('heading', { name: 'Collections', exact: true }).waitFor();
    await page.getByRole('link', { name: 'New collection' }).first().waitFor();
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const tabTo = async (text: string): Promise<void> => {
      for (let pressed = 0; pressed < 60; pressed += 1) {
        await press('Tab');
        if ((await page.evaluate('document.activeElement.innerText')) === text) return;
      }
      throw new Error(`The keyboard does not reach ${text}`);
    };
    await tabTo('New collection');
    await press('Enter');
    await page.getByRole('heading', { name: 'New collection' }).waitFor();
    await page.getByLabel('Name').first().focus();
    await page.keyboard.type('keys');
    await tabTo('Create collection');
    await press('Enter');
    await page.getByRole('heading', { name: 'keys' }).waitFor();
    await page.getByRole('button', { name: 'Delete collection …' }).waitFor();
    await tabTo('Delete collection …');
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.innerText')).toBe('Delete collection …');
    await context.close();
  });

  it('says so on every page, leads to turning it on, and says when the server is gone', async () => {
    const { page, context, faults } = await openPage(browser, server.url);
    await page.getByText('Authentication is off').waitFor();
    await page.getByRole('link', { name: 'Turn it on' }).click();
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('The same again').fill(PASSWORD);
    await expectGood(page, 'creation of the admin');
    await page.getByRole('button', { name: 'Create the admin' }).click();
    await signIn(page);
    await page.getByRole('button', { name: 'Turn authentication on' }).click();
    await page.getByText('It is on').waitFor();
    await page.getByText('Authentication is off').waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await page.getByText('No access token yet').waitFor();
    await server.stop();
    await goTo(page, '#/collections');
    await page.getByText('The server does not answer.').waitFor();
    await expectGood(page, 'a server that is gone');
    await context.close();
  });
});

if (WALK === 'all') {
  describeUnless(isNoChromium)('every page of the console', walkEveryPage);
  describeUnless(isNoChromium)('every page of the console that needs a sign-in', walkSignedIn);
}
