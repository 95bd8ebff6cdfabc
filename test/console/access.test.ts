import type { Browser, Page } from 'playwright-core';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { goTo, isNoChromium, openPage, startBrowser, type WatchedPage } from './browser';
import { adminToken, ask, expectGood, PASSWORD, signIn } from './session';

const NOTES = [
  'id,text,tenant',
  '1,"red shoes, size 7",a',
  '2,blue shoes,b',
  '3,"boots on\ntwo lines",a',
  'x,green hats,b',
  '5,without a tenant',
  '6,yellow shoes,b',
].join('\n');

describeUnless(isNoChromium)('the console with an access token', () => {
  let browser: Browser;
  let server: TemporaryServer;
  let watched: WatchedPage;
  let page: Page;
  /** How far the clock of the server is ahead. */
  let aheadMs = 0;

  /** The value of a new token. */
  const makeToken = async (body: object): Promise<string> => {
    const answer = await ask(server.url, 'POST', '/auth/access_token', await adminToken(server.url), body);
    return (JSON.parse(answer) as { token: string }).token;
  };
  const signInWithToken = async (token: string): Promise<void> => {
    await page.getByRole('button', { name: 'Access token' }).click();
    await page.getByLabel('Access token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };

  beforeAll(async () => {
    const { now } = Date;
    jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    [browser, server] = await Promise.all([
      startBrowser(),
      startServer({ settings: { KITHDB_AUTH_ENABLED: 'true', KITHDB_ADMIN_PASSWORD: PASSWORD } }),
    ]);
    const token = await adminToken(server.url);
    for (const name of ['notes', 'other']) {
      const body = { sparse_vectors: { text: { modifier: 'idf' } } };
      await ask(server.url, 'PUT', `/collections/${name}`, token, body);
    }
    watched = await openPage(browser, server.url);
    page = watched.page;
  });

  afterAll(async () => {
    jest.restoreAllMocks();
    await browser.close();
    await server.stop();
  });

  afterEach(() => {
    expect(watched.faults).toEqual([]);
  });

  it('is signed in to by a token that the server knows, and by no other', async () => {
    await signInWithToken('kith_unknown');
    await page.getByText('Invalid or missing').first().waitFor();
    await expectGood(page, 'sign-in by a token');
    const token = await makeToken({ name: 'program', permission: 'read,write' });
    await page.getByLabel('Access token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'notes' }).waitFor();
    await page.getByText('Signed in with a token').waitFor();
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByText('Sign in with a credential that has this permission.').waitFor();
  });

  it('uploads CSV, and names the lines that are refused', async () => {
    await goTo(page, '#/collections/notes/upload');
    await page
      .getByLabel('A JSONL or CSV file')
      .setInputFiles({ name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from(NOTES) });
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('4 points stored, 2 lines left out.').waitFor();
    const refused = page.getByRole('region', { name: 'Refused rows' });
    expect(await refused.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('Line'),
      expect.stringMatching(/^6\s+\S+.*\bid\b/),
      expect.stringMatching(/^7\s+It has 2 values for 3 columns/),
    ]);
    await expectGood(page, 'upload of CSV');
  });

  it('searches by a text', async () => {
    await page.getByRole('link', { name: 'Search' }).click();
    await page.getByLabel('Text', { exact: true }).fill('red shoes');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText(/^3 points in/).waitFor();
    const found = page.getByRole('region', { name: 'Points', exact: true });
    expect(await found.getByRole('row').nth(1).innerText()).toContain('red shoes, size 7');
    await expectGood(page, 'search by a text');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
  });

  it('C15 shows what a limited token reaches, and what it may not do in the words of the server', async () => {
    const limits = {
      collections: [{ name: 'notes', permission: 'read' }],
      filter: { must: [{ key: 'tenant', match: { value: 'a' } }] },
    };
    await signInWithToken(await makeToken({ name: 'tenant', permission: 'read', ...limits }));
    await goTo(page, '#/collections');
    await page.getByRole('link', { name: 'notes' }).waitFor();
    expect(await page.getByRole('link', { name: 'other' }).count()).toBe(0);
    await page.getByRole('link', { name: 'notes' }).click();
    await page.getByRole('link', { name: 'Points', exact: true }).click();
    await page.getByText('2 points', { exact: true }).waitFor();
    const points = page.getByRole('region', { name: 'Points', exact: true });
    expect(await points.getByRole('rowheader').allInnerTexts()).toEqual(['1', '3']);
    await expectGood(page, 'points of a limited token');
    await page.getByRole('button', { name: '1', exact: true }).click();
    await page.getByRole('button', { name: 'Delete point 1' }).click();
    await page.getByRole('button', { name: 'Delete the point' }).click();
    await page.getByText('Permission denied').first().waitFor();
    await goTo(page, '#/collections/other');
    await page.getByText('Permission denied').first().waitFor();
    await page.getByRole('link', { name: 'Server' }).click();
    // The page before it says the same.
    await page.getByRole('heading', { level: 1, name: 'Server' }).waitFor();
    await page.getByText('Permission denied').first().waitFor();
    await expectGood(page, 'the server to a limited token');
    // None of these ended the session.
    await page.getByRole('button', { name: 'Sign out' }).click();
  });

  it('asks again when a token or the sign-in of the admin has expired', async () => {
    const short = { will_expire: true, expires_in_seconds: 600 };
    await signInWithToken(await makeToken({ name: 'short', permission: 'read', ...short }));
    await goTo(page, '#/collections');
    await page.getByRole('link', { name: 'notes' }).waitFor();
    aheadMs += 700_000;
    await page.getByText('The server no longer accepts this access token').waitFor();
    await signIn(page);
    await page.getByText('Signed in as admin').waitFor();
    await page.getByRole('link', { name: 'notes' }).waitFor();
    aheadMs += 3_700_000;
    await page.getByText('Your sign-in has ended').waitFor();
    await expectGood(page, 'an expired sign-in');
  });
});
