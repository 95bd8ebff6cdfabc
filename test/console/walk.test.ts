import type { Browser, Page } from 'playwright-core';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { until } from '../until';
import {
  clickPoint,
  coloursOf,
  firstViewOf,
  goTo,
  isNoChromium,
  openPage,
  startBrowser,
  type WatchedPage,
} from './browser';
import { adminToken, ask, expectGood, PASSWORD, signIn } from './session';

/** Runs as a script where a page takes text for markup. */
const SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
const NAME = `shop & 'co' ${String.fromCodePoint(0x2603)}`;

const LINES = [
  ...Array.from({ length: 40 }, (_, id) => ({
    id,
    vector: [Math.cos(id), Math.sin(id), (id % 7) / 7, 0.1],
    payload: {
      colour: ['red', 'green', 'blue'][id % 3],
      price: id * 1.5,
      note: SCRIPT,
      [SCRIPT]: 'javascript:1',
    },
  })),
  { id: 40, vector: [1, 2], payload: {} },
  'no JSON',
  { id: '9007199254740993', vector: [1, 0, 0, 0], payload: { big: 'BIG', one: 'ONE' } },
]
  .map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  // Numbers that JavaScript would write otherwise.
  .map((line) =>
    line
      .replace('"9007199254740993"', '9007199254740993')
      .replace('"BIG"', '12345678901234567890')
      .replace('"ONE"', '1.0'),
  )
  .join('\n');

describeUnless(isNoChromium)('the console in a browser', () => {
  let browser: Browser;
  let server: TemporaryServer;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    [browser, server] = await Promise.all([
      startBrowser(),
      startServer({ settings: { KITHDB_AUTH_ENABLED: 'true', KITHDB_ADMIN_PASSWORD: PASSWORD } }),
    ]);
    watched = await openPage(browser, server.url);
    page = watched.page;
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  afterEach(async () => {
    expect(watched.faults).toEqual([]);
    expect(await page.evaluate('window.hacked')).toBeUndefined();
  });

  it('asks for a sign-in, and says in the words of the server why it is refused', async () => {
    await page.getByRole('heading', { name: 'Sign in to KithDB' }).waitFor();
    expect((await firstViewOf(page)).shift).toBe(0);
    await expectGood(page, 'sign-in');
    await signIn(page, 'wrong');
    await page.getByText('Invalid username or password').waitFor();
    await signIn(page);
    await page.getByRole('heading', { name: 'No collection yet' }).waitFor();
    await expectGood(page, 'no collections');
    // The credential is nowhere but in the memory of the page.
    expect(
      await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])'),
    ).not.toMatch(/eyJ/);
  });

  it('makes a collection, and shows the request that does it', async () => {
    await page.getByRole('link', { name: 'New collection' }).first().click();
    await page.getByLabel('Name').first().fill(NAME);
    await page.getByLabel('Size').fill('4');
    await page.getByLabel('Quantization').selectOption('scalar');
    await page.getByText(/^Codes of 8 bits a component/).waitFor();
    await page.getByText('Recall, durability, expiry and ids').click();
    await page.getByLabel('Target recall of searches that do not say').fill('9');
    await page.getByText('95 %', { exact: true }).waitFor();
    await page.getByLabel('Field with the time of expiry').fill('expires_at');
    await expectGood(page, 'creation');
    await page.getByRole('button', { name: 'Create collection' }).click();
    await page.getByRole('heading', { name: NAME, level: 1 }).waitFor();
    await page.getByRole('cell', { name: 'scalar, int8' }).waitFor();
    const made = JSON.parse(
      await ask(server.url, 'GET', `/collections/${encodeURIComponent(NAME)}`, await adminToken(server.url)),
    ).result;
    expect([made.config.hnsw_config.target_recall, made.expire_at_key]).toEqual([0.95, 'expires_at']);
    await expectGood(page, 'overview');
  });

  it('changes the target recall, and adds and removes a vector', async () => {
    await page.getByLabel('Target recall of searches that do not say').fill('14');
    await page.getByRole('button', { name: 'Change settings' }).click();
    await page.getByText('The settings are changed.').waitFor();
    await page.getByText('As it is: 99 %').waitFor();
    await page.getByLabel('No target recall any more').check();
    await page.getByRole('button', { name: 'Change settings' }).click();
    await page.getByText('As it is: none').waitFor();
    await page.getByText('Add a vector', { exact: true }).click();
    const form = page.getByRole('form', { name: 'Add a vector' });
    await form.getByLabel('Name').fill('words');
    await form.getByLabel('Kind').selectOption('sparse');
    await expectGood(page, 'a vector more');
    await form.getByRole('button', { name: 'Add vector' }).click();
    await page.getByRole('rowheader', { name: 'words' }).waitFor();
    await page.getByRole('button', { name: 'Remove the vector words' }).click();
    await page.getByRole('button', { name: 'Remove it from all points' }).click();
    await page.getByRole('rowheader', { name: 'words' }).waitFor({ state: 'detached' });
  });

  it('uploads a file, and names the lines that are refused', async () => {
    await page.getByRole('link', { name: 'Upload' }).click();
    await page
      .getByLabel('A JSONL or CSV file')
      .setInputFiles({ name: 'points.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(LINES) });
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('41 points stored, 2 lines left out.').waitFor();
    const refused = page.getByRole('region', { name: 'Refused rows' });
    expect(await refused.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('Line'),
      expect.stringMatching(/^41\s+Dimension mismatch for vector '': expected 4, got 2/),
      expect.stringMatching(/^42\s+This is no JSON/),
    ]);
    await expectGood(page, 'upload');
  });

  it('filters points, shows the JSON of the filter, and takes payloads for text', async () => {
    await page.getByRole('link', { name: 'Points', exact: true }).click();
    await page.getByText('41 points', { exact: true }).waitFor();
    await page.getByText('Filter', { exact: true }).click();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Field').fill('colour');
    await page.getByLabel('Value').fill('red');
    expect(await page.getByLabel('The filter as JSON').innerText()).toContain('"value": "red"');
    await page.getByRole('button', { name: 'Apply the filter' }).click();
    await page.getByText('14 of 41 points match').waitFor();
    await expectGood(page, 'points');
    await page.getByRole('button', { name: '3', exact: true }).click();
    await page.getByRole('heading', { name: 'Point 3' }).waitFor();
    expect(await page.getByLabel('Payload').innerText()).toContain('onerror');
    await page.getByRole('button', { name: 'Show vectors' }).click();
    await page.getByLabel('Vectors').waitFor();
    await expectGood(page, 'a point');
  });

  it('changes a payload, and leaves numbers as they were written', async () => {
    await page.getByLabel('Id', { exact: true }).fill('9007199254740993');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('button', { name: 'Edit payload' }).click();
    const payload = page.getByRole('textbox', { name: 'Payload' });
    const text = await payload.inputValue();
    expect(text).toContain('12345678901234567890');
    expect(text).toContain('1.0');
    await payload.fill(text.replace('{', '{ "new": true,'));
    await page.getByRole('button', { name: 'Replace the payload' }).click();
    await page.getByRole('button', { name: 'Edit payload' }).waitFor();
    const path = `/collections/${encodeURIComponent(NAME)}/points/9007199254740993`;
    const stored = await ask(server.url, 'GET', path, await adminToken(server.url));
    expect(stored).toContain('"payload":{"new":true,"big":12345678901234567890,"one":1.0}');
    await page.getByRole('button', { name: 'Delete point 9007199254740993' }).click();
    await page.getByRole('button', { name: 'Delete the point' }).click();
    await page.getByText('14 of 40 points match').waitFor();
  });

  it('searches by an id and a vector, and shows the request in other languages', async () => {
    await page.getByRole('button', { name: '3', exact: true }).click();
    await page.getByRole('link', { name: 'Find similar' }).click();
    await page.getByText(/^10 points in/).waitFor();
    await page.getByRole('button', { name: 'Vector' }).click();
    await page.getByLabel('Vector as JSON').fill('[1, 0, 0]');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText("Dimension mismatch for vector '': expected 4, got 3").waitFor();
    await page.getByLabel('Vector as JSON').fill('[1, 0, 0, 0]');
    await page.getByText('Parameters').click();
    await page.getByLabel('Exact').check();
    await page.getByLabel('Explain').check();
    await page.getByLabel('Why are these missing?').fill('3');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText(/^10 points in/).waitFor();
    await page.getByLabel('Exact').uncheck();
    await page.getByLabel('Target recall').fill('12');
    expect(await page.getByLabel('hnsw_ef').isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    const explained = page.getByRole('region', { name: 'Why points are missing' });
    expect(await explained.getByRole('row').nth(1).innerText()).toMatch(/^3\s+(?:yes|no)/);
    await page.getByText('Request', { exact: true }).click();
    await page.getByRole('button', { name: 'curl' }).click();
    const curl = await page.getByLabel('Request', { exact: true }).innerText();
    expect(curl).toContain('$KITHDB_TOKEN');
    expect(curl).toContain('"target_recall":0.98');
    expect(curl).not.toContain('eyJ');
    await page.getByRole('button', { name: 'Cards' }).click();
    await expectGood(page, 'search');
  });

  it('draws a map, whose points lead to their neighbours', async () => {
    await page.getByRole('link', { name: 'Map' }).click();
    await page.getByRole('button', { name: 'Draw the map' }).click();
    await page.getByText(/laid out so that neighbours are near/).waitFor();
    await page.getByLabel('Colour by').selectOption('colour');
    await page.getByRole('list', { name: 'Colours' }).waitFor();
    const map = page.locator('canvas.map');
    await map.scrollIntoViewIfNeeded();
    // The points, which have come to their places by now.
    await until(async () => (await coloursOf(page, map)) > 30, 100);
    const box = await map.boundingBox();
    const corners = [
      [0.99, 0.2],
      [0.01, 0.2],
      [0.01, 0.01],
      [0.01, 0.99],
      [0.99, 0.99],
    ] as const;
    await page.mouse.move(box!.x + box!.width * 0.99, box!.y + box!.height * 0.99);
    await page.mouse.down();
    for (const [x, y] of corners) await page.mouse.move(box!.x + box!.width * x, box!.y + box!.height * y);
    await page.mouse.up();
    await page.getByText(/points in the lasso/).waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByLabel('Id', { exact: true }).fill('5');
    await page.getByRole('button', { name: 'Find neighbours' }).click();
    await page.getByText('Neighbours of 5').waitFor();
    const clicked = await clickPoint(page);
    await page.getByRole('heading', { name: `Neighbours of ${clicked}`, exact: true }).waitFor();
    const neighbours = page.getByRole('region', { name: 'Points', exact: true }).getByRole('rowheader');
    expect(await neighbours.count()).toBe(10);
    expect(await neighbours.allInnerTexts()).not.toContain(clicked);
    await expectGood(page, 'map');
    await page.getByLabel('What is near').selectOption('pca');
    await page.getByRole('button', { name: 'Draw another sample' }).click();
    await page.getByText(/% of the variance/).waitFor();
  });

  it('measures recall and latency over the width, and can be stopped', async () => {
    await page.getByRole('link', { name: 'Recall', exact: true }).click();
    await page.getByLabel('Points that are searched for').selectOption('200');
    await page.getByText('It sends 2,402 searches').waitFor();
    await page.getByRole('button', { name: 'Measure' }).click();
    await page.getByText(/^\d+ of 40 points/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText(/^\d+ points? measured/).waitFor();
    await page.locator('.plot canvas').waitFor();
    const rows = page.getByRole('region', { name: 'Recall and latency by width' }).getByRole('row');
    expect(await rows.count()).toBe(12);
    expect(await rows.nth(1).innerText()).toMatch(/^10\s+100 %/);
    await expectGood(page, 'recall');
  });

  it('sends any request, and completes its fields', async () => {
    await page.getByRole('link', { name: 'Requests' }).click();
    await page.getByLabel('Endpoint').selectOption('POST /collections/{collection_name}/points/count');
    await page.getByLabel('Path').fill(`/collections/${encodeURIComponent(NAME)}/points/count`);
    await page.getByLabel('Body').fill('{"fil');
    await page.getByLabel('Body').press('Control+ ');
    await page.keyboard.press('Enter');
    await page.locator('textarea:focus').waitFor();
    await page.keyboard.type('null}');
    expect(await page.getByLabel('Body').inputValue()).toBe('{"filter": null}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByLabel('Answer', { exact: true }).getByText('"count"').waitFor();
    await expectGood(page, 'requests');
  });

  it('makes a token and shows it once', async () => {
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('button', { name: 'New token' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(SCRIPT);
    await dialog.getByLabel('write').check();
    await dialog.getByLabel('Expires').selectOption('In 7 days');
    await expectGood(page, 'new token');
    await dialog.getByRole('button', { name: 'Create token' }).click();
    const value = await page.getByLabel('Value of the token').innerText();
    expect(value).toMatch(/^kith_[0-9A-Za-z]{49}$/);
    expect(await ask(server.url, 'GET', '/collections', value)).toContain('"status":"ok"');
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('rowheader', { name: SCRIPT }).waitFor();
    expect(await page.content()).not.toContain(value);
    const [made] = JSON.parse(
      await ask(server.url, 'GET', '/auth/access_tokens', await adminToken(server.url)),
    ) as [{ created_at: string; expired_at: string }];
    const days = (Date.parse(made.expired_at) - Date.parse(made.created_at)) / 86_400_000;
    expect(days).toBeCloseTo(7, 3);
    expect(await page.getByRole('row', { name: SCRIPT }).innerText()).not.toContain('never');
    await expectGood(page, 'tokens');
    await page.getByRole('button', { name: `Rotate ${SCRIPT}` }).click();
    await page.getByRole('button', { name: 'Rotate: the old value stops now' }).click();
    await page.getByRole('button', { name: 'I have it' }).click();
    expect(await ask(server.url, 'GET', '/collections', value)).toContain('Invalid or missing');
    await page.getByRole('button', { name: `Delete ${SCRIPT}` }).click();
    await page.getByRole('button', { name: 'Delete: it stops now' }).click();
    await page.getByText('No access token yet').waitFor();
  });

  it('makes a token that reaches some collections and points only', async () => {
    await page.getByRole('button', { name: 'New token' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').first().fill('tenant');
    await dialog.getByLabel('admin').check();
    await dialog.getByRole('button', { name: 'Only some collections' }).click();
    await dialog.getByText('A token with limits cannot have admin').waitFor();
    await dialog.getByLabel('admin').uncheck();
    const create = dialog.getByRole('button', { name: 'Create token' });
    expect(await create.isDisabled()).toBe(true);
    await dialog.getByLabel('Collection', { exact: true }).fill(NAME);
    await dialog.getByRole('button', { name: 'Add another' }).click();
    const second = dialog.getByRole('group', { name: 'Collection 2' });
    await second.getByLabel('By').selectOption('prefix');
    await second.getByLabel('Beginning of names').fill('a-');
    await dialog.getByText('Only points that match a filter').click();
    await dialog.getByLabel('Filter as JSON').fill('{"must": {"key": "colour", "match": {"value": "red"}}}');
    await expectGood(page, 'a token with limits');
    await create.click();
    const value = await page.getByLabel('Value of the token').innerText();
    await page.getByRole('button', { name: 'I have it' }).click();
    const row = page.getByRole('row', { name: 'tenant' });
    expect(await row.innerText()).toMatch(/a-…\s+read[\s\S]*"colour"/);
    await expectGood(page, 'tokens with limits');
    const counted = `/collections/${encodeURIComponent(NAME)}/points/count`;
    expect(await ask(server.url, 'POST', counted, value, {})).toContain('"count":14');
    expect(await ask(server.url, 'GET', '/collections/other', value)).toContain('Permission denied');
    await page.getByRole('button', { name: 'Delete tenant' }).click();
    await page.getByRole('button', { name: 'Delete: it stops now' }).click();
    await page.getByText('No access token yet').waitFor();
  });

  it('shows the state of the server, and its settings', async () => {
    await page.getByRole('link', { name: 'Server' }).click();
    await page.getByText('No health issues.').waitFor();
    await page.locator('.plot canvas').first().waitFor();
    // What the charts draw is beside them as text.
    const answered = page.getByRole('region', { name: 'Requests' }).locator('.legend strong').first();
    const token = await adminToken(server.url);
    await until(async () => {
      await ask(server.url, 'GET', '/collections', token);
      return Number(await answered.innerText()) > 0;
    }, 100);
    const backlog = page.getByRole('region', { name: 'Index backlog' });
    expect(await backlog.innerText()).toMatch(/dense rows \d[\s\S]*sparse rows \d[\s\S]*field indexes \d/);
    const settings = page.getByRole('region', { name: 'Settings' });
    await settings.getByRole('rowheader', { name: 'admin_password', exact: true }).waitFor();
    expect(await settings.innerText()).toContain('KITHDB_ADMIN_PASSWORD');
    expect(await settings.innerText()).not.toContain(PASSWORD);
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await settings.getByRole('rowheader', { name: 'max_collections' }).waitFor();
    await expectGood(page, 'server');
  });

  it('clones a collection', async () => {
    await goTo(page, `#/collections/${encodeURIComponent(NAME)}`);
    await page.getByLabel('Name of the clone').fill('cloned');
    await page.getByRole('button', { name: 'Clone', exact: true }).click();
    await page.getByRole('heading', { name: 'cloned', level: 1 }).waitFor();
    const counted = await ask(
      server.url,
      'POST',
      '/collections/cloned/points/count',
      await adminToken(server.url),
      {},
    );
    expect(counted).toContain('"count":40');
    await ask(server.url, 'DELETE', '/collections/cloned', await adminToken(server.url));
  });

  it('deletes a collection once its name is typed', async () => {
    await goTo(page, `#/collections/${encodeURIComponent(NAME)}`);
    await page.getByRole('button', { name: 'Delete collection …' }).click();
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: 'Delete collection' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel(/Type the name/).fill(NAME);
    await button.click();
    await page.getByText('No collection yet').waitFor();
  });

  it('asks again when the sign-in has ended, and goes on where the user was', async () => {
    await page.getByRole('link', { name: 'Tokens' }).click();
    // Every JWT from before is invalid.
    const token = await adminToken(server.url);
    await ask(server.url, 'POST', '/auth/admin/reset-password', token, { password: PASSWORD });
    await goTo(page, '#/collections');
    await page.getByText('Your sign-in has ended').waitFor();
    await signIn(page);
    await page.getByRole('heading', { name: 'Collections' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
  });
});
