import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { accessibilityViolations, coloursOf, goTo, isNoChromium, openPage, startBrowser } from './browser';
import { until } from '../until';

/** Runs as a script where a page takes text for markup. */
const SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

/** What only the dialect `qdrant` has, and what a browser without WebGL sees. */
describeUnless(isNoChromium)('the console of a server with the dialect of Qdrant', () => {
  let browser: Browser;
  let server: TemporaryServer;
  let page: Page;
  let faults: readonly string[];

  const send = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return ((await response.json()) as { result: unknown }).result;
  };
  const expectGood = async (what: string): Promise<void> => {
    expect([what, await accessibilityViolations(page)]).toEqual([what, []]);
  };

  beforeAll(async () => {
    [browser, server] = await Promise.all([
      startBrowser(),
      startServer({ settings: { KITHDB_DIALECT: 'qdrant' } }),
    ]);
    await send('PUT', '/collections/shop', { vectors: { size: 3, distance: 'Cosine' } });
    const points = Array.from({ length: 60 }, (_, id) => ({
      id,
      vector: [Math.cos(id), Math.sin(id), id % 3],
      payload: { kind: ['red', 'green', 'blue'][id % 3] },
    }));
    await send('PUT', '/collections/shop/points?wait=true', { points });
    ({ page, faults } = await openPage(browser, server.url));
    await page.getByRole('link', { name: 'shop' }).waitFor();
  });

  afterAll(async () => {
    expect(faults).toEqual([]);
    await browser.close();
    await server.stop();
  });

  it('gives aliases to a collection, and takes them away', async () => {
    await goTo(page, '#/collections/shop');
    await page.getByLabel('Alias', { exact: true }).fill('current');
    await page.getByRole('button', { name: 'Give it' }).click();
    await page.getByRole('button', { name: 'Remove the alias current' }).waitFor();
    await expectGood('aliases');
    expect(await send('GET', '/aliases')).toEqual({
      aliases: [{ alias_name: 'current', collection_name: 'shop' }],
    });
    await page.getByRole('button', { name: 'Remove the alias current' }).click();
    await page.getByRole('button', { name: 'Remove the alias', exact: true }).click();
    // The button that was pressed first is gone before the alias is.
    await page.getByRole('list', { name: 'Aliases' }).waitFor({ state: 'detached' });
    expect(await send('GET', '/aliases')).toEqual({ aliases: [] });
  });

  it('takes names of vectors and of aliases for text', async () => {
    const { page: own, context, faults: ownFaults } = await openPage(browser, server.url);
    // A server that has such names; this one refuses them.
    const changed = async (url: string, change: (body: string) => string): Promise<void> => {
      await own.route(url, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, body: change(await answer.text()) });
      });
    };
    const name = JSON.stringify(SCRIPT);
    await changed(`${server.url}/collections/shop`, (body) =>
      body.replace(/"vectors":(\{[^{}]*\})/, `"vectors":{${name}:$1,"other":$1}`),
    );
    await changed(
      `${server.url}/collections/shop/aliases`,
      () => `{"result":{"aliases":[{"alias_name":${name}}]}}`,
    );
    for (const place of ['', '/points', '/search', '/map', '/recall', '/upload']) {
      await goTo(own, `#/collections/shop${place}`);
      await own.getByRole('heading', { name: 'shop', level: 1 }).waitFor();
      const shown = own.getByText(SCRIPT).or(own.locator('option', { hasText: SCRIPT }));
      if (place !== '/points' && place !== '/upload') await shown.first().waitFor({ state: 'attached' });
    }
    await goTo(own, '#/collections/shop');
    await own.getByRole('button', { name: `Remove the alias ${SCRIPT}` }).waitFor();
    await own.getByRole('rowheader', { name: SCRIPT }).waitFor();
    // What the server says of such names has them in it.
    await own.getByLabel('Alias', { exact: true }).fill(SCRIPT);
    await own.getByRole('button', { name: 'Give it' }).click();
    await own.getByRole('alert').waitFor();
    expect(await own.evaluate('window.hacked')).toBeUndefined();
    expect(ownFaults).toEqual([]);
    await context.close();
  });

  it('makes a snapshot, saves it, recovers from it and from the file, and deletes it', async () => {
    await page.getByRole('link', { name: 'Snapshots' }).click();
    await page.getByText('No snapshot yet').waitFor();
    await page.getByRole('button', { name: 'Make a snapshot' }).click();
    const save = page.getByRole('button', { name: /^Save shop/ });
    await save.waitFor();
    await expectGood('snapshots');
    const saving = page.waitForEvent('download');
    await save.click();
    const file = await (await saving).path();
    expect(readFileSync(file).subarray(0, 13).toString()).toBe('snapshot.json');
    await send('POST', '/collections/shop/points/delete?wait=true', { points: [1, 2, 3] });
    await page.getByRole('button', { name: /^Recover from shop/ }).click();
    await page.getByRole('button', { name: 'Replace shop', exact: true }).first().click();
    await page.getByText('The collection has what the snapshot had').waitFor();
    expect(await send('POST', '/collections/shop/points/count', {})).toEqual({ count: 60 });
    await page.getByLabel('A snapshot of one collection').setInputFiles(file);
    await page.getByLabel('As the collection').fill('shop-again');
    await page.getByRole('button', { name: 'Recover', exact: true }).last().click();
    await page.getByRole('heading', { name: 'shop-again', level: 1 }).waitFor();
    expect(await send('POST', '/collections/shop-again/points/count', {})).toEqual({ count: 60 });
    await goTo(page, '#/collections/shop/snapshots');
    await page.getByRole('button', { name: /^Delete shop/ }).click();
    await page.getByRole('button', { name: 'Delete the snapshot' }).click();
    await page.getByText('No snapshot yet').waitFor();
  });

  it('draws a map in a browser without WebGL too', async () => {
    const { page: flat, context } = await openPage(browser, server.url);
    await flat.evaluate(`(() => {
      const { getContext } = HTMLCanvasElement.prototype;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind === 'webgl2' ? null : getContext.call(this, kind, ...rest);
      };
    })()`);
    await goTo(flat, '#/collections/shop/map');
    await flat.getByRole('button', { name: 'Draw the map' }).click();
    await flat.getByText(/laid out so that neighbours are near/).waitFor();
    await flat.getByLabel('Colour by').selectOption('kind');
    await flat.getByRole('list', { name: 'Colours' }).waitFor();
    const map = flat.locator('canvas.map');
    await until(async () => (await coloursOf(flat, map)) > 4, 100);
    await context.close();
  });
});
