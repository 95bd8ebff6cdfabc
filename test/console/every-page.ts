import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { embeddings, FakeEndpoint, sendJson } from '../models/fake-endpoint';
import { until } from '../until';
import { coloursOf, goTo, openPage, startBrowser } from './browser';
import { adminToken, ask, expectGood, PASSWORD, signIn } from './session';

const PICTURES = join(__dirname, '..', '..', '.build', 'console-pictures');

const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'dark', width: 390 },
] as const;

type Look = (typeof LOOKS)[number];

/** A picture: its name, the place in the console, and what is done there first. */
type Step = readonly [name: string, place: string, prepare: (page: Page) => Promise<unknown>];

/** Goes through pages, looks at each and keeps a picture of it. */
async function walk(browser: Browser, url: string, look: Look, steps: readonly Step[]): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  const { colorScheme, width } = look;
  const { page, context, faults } = await openPage(browser, url, {
    colorScheme,
    viewport: { width, height: 820 },
  });
  for (const [name, place, prepare] of steps) {
    await goTo(page, place);
    await prepare(page);
    await expectGood(page, name);
    await page.screenshot({
      path: join(PICTURES, `${name}-${colorScheme}-${width}.png`),
      // What is in a dialog is as high as the window.
      fullPage: (await page.getByRole('dialog').count()) === 0,
      caret: 'initial',
    });
  }
  expect(faults).toEqual([]);
  await context.close();
}

const OPEN: readonly Step[] = [
  ['collections', '#/collections', (page) => page.getByRole('link', { name: 'shop' }).waitFor()],
  [
    'create',
    '#/create',
    async (page) => {
      await page.getByText('Recall, durability, expiry and ids').click();
      await page.getByText('Storage and graph').click();
    },
  ],
  ['collection', '#/collections/shop', (page) => page.getByText('Add a field index').click()],
  [
    'reembedding',
    '#/collections/birds',
    async (page) => {
      await page.getByText('Ready. Searches use the old vectors').waitFor();
      await page.getByText('The model fails.').waitFor();
      await page.getByText("Model 'flaky' failed").waitFor();
      await page.getByRole('button', { name: 'Commit the new vectors of title' }).click();
      await page.getByText('Change the model of a vector').click();
      const form = page.getByRole('form', { name: 'Change the model of a vector' });
      await form.getByLabel('New model').fill('nobody');
      await form.getByLabel('Payload key of the texts').fill('text');
      await form.getByRole('button', { name: 'Begin' }).click();
      await page.getByText("unknown model 'nobody'").waitFor();
    },
  ],
  [
    'points',
    '#/collections/shop/points',
    async (page) => {
      await page.getByText('Filter', { exact: true }).click();
      await page.getByRole('button', { name: 'Add a condition' }).click();
      await page.getByLabel('Field').fill('colour');
      await page.getByLabel('Value').fill('red');
      await page.getByRole('button', { name: 'Apply the filter' }).click();
      await page.getByText(/^100 of \d+ points match/).waitFor();
      await page.locator('table.points button').first().click();
      await page.getByLabel('Payload').waitFor();
    },
  ],
  [
    'upload',
    '#/collections/shop/upload',
    async (page) => {
      const lines = [
        '{"id": 1000, "vector": {"": [1, 2, 3, 4]}}',
        'no JSON',
        '{"id": 1001, "vector": {"": [1]}}',
      ];
      await page.getByLabel('A JSONL or CSV file').setInputFiles({
        name: 'a.jsonl',
        mimeType: 'application/jsonl',
        buffer: Buffer.from(lines.join('\n')),
      });
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.getByText('1 point stored, 2 lines left out.').waitFor();
    },
  ],
  [
    'search',
    '#/collections/shop/search/5',
    async (page) => {
      await page.getByText(/^10 points in/).waitFor();
      await page.getByText('Parameters').click();
      await page.getByLabel('Explain').check();
      await page.getByLabel('Why are these missing?').fill('3');
      await page.getByRole('button', { name: 'Search', exact: true }).click();
      await page.getByRole('region', { name: 'Why points are missing' }).waitFor();
    },
  ],
  [
    'search-cards',
    '#/collections/shop/search',
    async (page) => {
      await page.getByLabel('Text', { exact: true }).fill('shoe 7');
      await page.getByRole('button', { name: 'Search', exact: true }).click();
      await page.getByText(/^10 points in/).waitFor();
      await page.getByRole('button', { name: 'Cards' }).click();
    },
  ],
  [
    'map',
    '#/collections/shop/map',
    async (page) => {
      await page.getByRole('button', { name: 'Draw the map' }).click();
      await page.getByText(/laid out so that neighbours are near/).waitFor();
      await page.getByLabel('Colour by').selectOption('colour');
      await page.getByRole('list', { name: 'Colours' }).waitFor();
      await until(async () => (await coloursOf(page, page.locator('canvas.map'))) > 30, 100);
    },
  ],
  [
    'recall',
    '#/collections/shop/recall',
    async (page) => {
      await page.getByLabel('Points that are searched for').selectOption('20');
      await page.getByRole('button', { name: 'Measure' }).click();
      await page.getByText('20 points measured').waitFor();
    },
  ],
  [
    'snapshots',
    '#/collections/shop/snapshots',
    async (page) => {
      await page.getByRole('button', { name: 'Make a snapshot' }).click();
      const saves = page.getByRole('button', { name: /^Save shop/ });
      await saves.first().waitFor();
    },
  ],
  [
    'requests',
    '#/requests',
    async (page) => {
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByLabel('Answer', { exact: true }).waitFor();
    },
  ],
  ['tokens-off', '#/tokens', (page) => page.getByLabel('Password', { exact: true }).waitFor()],
  ['server-off', '#/server', (page) => page.locator('.plot canvas').first().waitFor()],
];

/** A collection with a re-embedding that is ready, but for points without a text, and one whose model fails. */
async function beginReembeddings(url: string, endpoint: FakeEndpoint): Promise<void> {
  endpoint.answer = (response, { model, input }) => {
    // The text of the trial is embedded.
    if (model === 'steady' || input[0] === 'text') sendJson(response, 200, embeddings(input));
    else sendJson(response, 400, { error: { message: 'Input is too long' } });
  };
  const dense = { size: 2, distance: 'Cosine', model: { name: 'old', text_key: 'text' } };
  const picture = { size: 2, distance: 'Dot' };
  await ask(url, 'PUT', '/collections/birds', '', { vectors: { title: dense, body: dense, picture } });
  const points = Array.from({ length: 40 }, (_, id) => ({
    ...{ id, vector: { title: [1, id], body: [id, 1], picture: [1, 1] } },
    payload: id < 3 ? {} : { text: `Owl ${id}` },
  }));
  await ask(url, 'PUT', '/collections/birds/points?wait=true', '', { points });
  await ask(url, 'POST', '/collections/birds/vectors/title/reembed', '', { model: 'steady' });
  await ask(url, 'POST', '/collections/birds/vectors/body/reembed', '', { model: 'flaky' });
}

/** Without authentication, in the dialect that has most pages. */
export function walkEveryPage(): void {
  let browser: Browser;
  let server: TemporaryServer;
  let endpoint: FakeEndpoint;

  beforeAll(async () => {
    endpoint = await FakeEndpoint.start();
    const models = ['steady', 'flaky'].map((name) => ({ name, url: endpoint.url, model: name }));
    [browser, server] = await Promise.all([
      startBrowser(),
      startServer({ settings: { KITHDB_DIALECT: 'qdrant', KITHDB_MODELS: JSON.stringify(models) } }),
    ]);
    await beginReembeddings(server.url, endpoint);
    await ask(server.url, 'PUT', '/collections/shop', '', {
      vectors: { size: 4, distance: 'Cosine' },
      sparse_vectors: { text: { modifier: 'idf' } },
    });
    const points = Array.from({ length: 300 }, (_, id) => ({
      id,
      vector: {
        '': [Math.cos(id), Math.sin(id), (id % 7) / 7, 0.1],
        text: { text: `shoe ${id}`, model: 'qdrant/bm25' },
      },
      payload: { colour: ['red', 'green', 'blue'][id % 3], price: id * 1.5, title: `Shoe ${id}` },
    }));
    await ask(server.url, 'PUT', '/collections/shop/points?wait=true', '', { points });
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    await endpoint.stop();
  });

  it.each(LOOKS)('is in order and accessible: $colorScheme, $width wide', (look) =>
    walk(browser, server.url, look, OPEN),
  );
}

/** So many looks at the metrics make lines that can be judged. */
const LOOKED_MS = 12_000;

const SIGNED_IN: readonly Step[] = [
  ['login', '#/collections', (page) => page.getByRole('heading', { name: 'Sign in to KithDB' }).waitFor()],
  [
    'login-refused',
    '#/collections',
    async (page) => {
      await signIn(page, 'wrong');
      await page.getByText('Invalid username or password').waitFor();
    },
  ],
  [
    'login-token',
    '#/collections',
    async (page) => {
      await page.getByRole('button', { name: 'Access token' }).click();
      await page.getByPlaceholder('kith_…').waitFor();
    },
  ],
  [
    'no-collections',
    '#/collections',
    async (page) => {
      await page.getByRole('button', { name: 'Admin password' }).click();
      await signIn(page);
      await page.getByRole('heading', { name: 'No collection yet' }).waitFor();
    },
  ],
  ['tokens', '#/tokens', (page) => page.getByRole('rowheader', { name: 'reports' }).waitFor()],
  [
    'token-new',
    '#/tokens',
    async (page) => {
      await page.getByRole('button', { name: 'New token' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').first().fill('tenant');
      await dialog.getByRole('button', { name: 'Only some collections' }).click();
      await dialog.getByLabel('Collection', { exact: true }).fill('shop');
    },
  ],
  [
    'token-shown',
    '#/tokens',
    async (page) => {
      await page.getByRole('button', { name: 'Create token' }).click();
      await page.getByLabel('Value of the token').waitFor();
    },
  ],
  [
    'server',
    '#/server',
    async (page) => {
      await page.locator('.plot canvas').first().waitFor();
      await page.getByRole('button', { name: 'All', exact: true }).click();
      await page.getByRole('rowheader', { name: 'max_collections' }).waitFor();
      await page.waitForTimeout(LOOKED_MS);
    },
  ],
  [
    'signed-out',
    '#/server',
    async (page) => {
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('You are signed out.').waitFor();
    },
  ],
];

/** With authentication: how one signs in, tokens of each kind, and settings that are given. */
export function walkSignedIn(): void {
  let browser: Browser;
  let server: TemporaryServer;

  beforeAll(async () => {
    [browser, server] = await Promise.all([
      startBrowser(),
      startServer({
        settings: {
          ...{ KITHDB_AUTH_ENABLED: 'true', KITHDB_ADMIN_PASSWORD: PASSWORD, KITHDB_MAX_COLLECTIONS: '500' },
          KITHDB_CORS_ORIGINS: 'https://example.com,https://search.example.com',
        },
      }),
    ]);
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  /** Tokens as they are before each walk, which makes another one. */
  const makeTokens = async (): Promise<void> => {
    const admin = await adminToken(server.url);
    const present = await ask(server.url, 'GET', '/auth/access_tokens', admin);
    for (const { id } of JSON.parse(present) as { id: number }[]) {
      await ask(server.url, 'DELETE', `/auth/access_token/${id}`, admin);
    }
    const filter = { must: [{ key: 'tenant', match: { value: 'a' } }] };
    const collections = ['shop', 'reviews', 'orders', 'users', 'logs'].map((name) => ({
      ...{ name, permission: 'read,write' },
    }));
    for (const body of [
      { name: 'importer', description: 'Nightly import of the catalogue', permission: 'read,write' },
      { name: 'reports', permission: 'read', collections },
      {
        name: 'tenant a',
        permission: 'read',
        collections: [{ prefix: 'tenant-', permission: 'read' }],
        filter,
      },
      { name: 'operations', permission: 'admin', will_expire: true, expires_in_seconds: 2_592_000 },
      { name: 'a trial that has ended', permission: 'read', will_expire: true, expires_in_seconds: 1 },
    ]) {
      await ask(server.url, 'POST', '/auth/access_token', admin, body);
    }
    // The last one is over by then.
    await new Promise((resolve) => setTimeout(resolve, 1100));
  };

  it.each(LOOKS)('is in order and accessible: $colorScheme, $width wide', async (look) => {
    await makeTokens();
    await walk(browser, server.url, look, SIGNED_IN);
  });
}
