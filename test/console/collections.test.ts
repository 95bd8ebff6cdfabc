import type { Browser, Page } from 'playwright-core';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { embeddings, FakeEndpoint, sendJson } from '../models/fake-endpoint';
import { until } from '../until';
import { goTo, isNoChromium, openPage, startBrowser, type WatchedPage } from './browser';
import { ask, expectGood } from './session';

describeUnless(isNoChromium)('a collection in the console', () => {
  let browser: Browser;
  let endpoint: FakeEndpoint;
  let server: TemporaryServer;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    endpoint = await FakeEndpoint.start();
    const models = ['new', 'flaky'].map((name) => ({ name, url: endpoint.url, model: name }));
    [browser, server] = await Promise.all([
      startBrowser(),
      startServer({ settings: { KITHDB_MODELS: JSON.stringify(models) } }),
    ]);
    watched = await openPage(browser, server.url);
    page = watched.page;
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    await endpoint.stop();
  });

  beforeEach(() => {
    endpoint.forget();
  });

  afterEach(() => {
    expect(watched.faults).toEqual([]);
  });

  const request = async (method: string, path: string, body?: unknown) =>
    JSON.parse(await ask(server.url, method, path, '', body));

  /** A collection with points of these texts, in two vectors of which the first has a model. */
  async function fill(name: string, texts: readonly (string | null)[]): Promise<void> {
    const title = { size: 3, distance: 'Dot', model: { name: 'old', text_key: 'text' } };
    await request('PUT', `/collections/${name}`, {
      vectors: { title, picture: { size: 2, distance: 'Dot' } },
    });
    const points = texts.map((text, id) => ({
      ...{ id, vector: { title: [id, 0, 1], picture: [id, 1] } },
      payload: text === null ? {} : { text },
    }));
    await request('PUT', `/collections/${name}/points?wait=true`, { points });
    await goTo(page, `#/collections/${name}`);
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  }

  const form = () => page.getByRole('form', { name: 'Change the model of a vector' });
  const openForm = () => page.getByText('Change the model of a vector', { exact: true }).click();
  const begin = () => form().getByRole('button', { name: 'Begin' });
  /** What has the focus, as its text. */
  const untilFocus = (text: string): Promise<void> =>
    until(async () => (await page.evaluate('document.activeElement.innerText')) === text, 50);

  it('C19 says why a re-embedding is refused, and begins one once', async () => {
    await fill('birds', ['owl', 'swift', 'heron', null]);
    await openForm();
    await page.getByText('Its model: old.').waitFor();
    await form().getByLabel('New model').fill('nobody');
    await begin().click();
    await page.getByText("unknown model 'nobody', expected").waitFor();
    // What was refused is another request by now.
    await form().getByLabel('New model').fill('new');
    await form().getByRole('alert').waitFor({ state: 'detached' });
    await form().getByLabel('Expected size').fill('9');
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    endpoint.answer = (response, { input }) => {
      void held.then(() => {
        sendJson(response, 200, embeddings(input));
      });
    };
    await begin().click();
    const trying = form().getByRole('button', { name: 'Trying the model' });
    await trying.waitFor();
    expect(await trying.isDisabled()).toBe(true);
    release();
    await page.getByText("size: expected vectors of 9 components, and the model 'new' makes 3").waitFor();
    await form().getByLabel('Expected size').fill('3');
    await begin().click();
    await page.getByRole('heading', { name: 'Re-embedding of title by new' }).waitFor();
    await untilFocus('Re-embedding of title by new');
    // The form is empty and closed: a second press would begin another vector.
    expect(await form().count()).toBe(0);
    await openForm();
    expect(await form().getByLabel('New model').inputValue()).toBe('');
    expect(await begin().isDisabled()).toBe(true);
    await page.getByText('No model is declared.').waitFor();
  });

  it('C19 says which points have no text, and commits without them with the keyboard alone', async () => {
    await page.getByText('3 of 4 points embedded').waitFor();
    await page.getByText('Ready. Searches use the old vectors').waitFor();
    await page.getByText('1 point has no text at text, and will have no vector in title').waitFor();
    await expectGood(page, 'a re-embedding that is ready');
    await page.getByRole('button', { name: 'Commit the new vectors of title' }).focus();
    await page.keyboard.press('Enter');
    await untilFocus('Commit: 1 point loses its vector');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await untilFocus('Commit');
    await page.keyboard.press('Enter');
    await untilFocus('Commit: 1 point loses its vector');
    // The report is gone before the answer is there: that is not an end elsewhere.
    await page.route('**/reembed/commit', async (route) => {
      const gone = page.waitForResponse((one) => one.url().endsWith('/reembed') && one.status() === 404);
      const response = await route.fetch();
      await gone;
      await route.fulfill({ response });
    });
    await page.keyboard.press('Enter');
    const outcome = 'The vectors of title are those of new now. Queries must use this model too.';
    await page.getByText(outcome).waitFor();
    await untilFocus(outcome);
    await page.getByRole('row', { name: /^title .* new/ }).waitFor();
    const { result: info } = await request('GET', '/collections/birds');
    expect(info.vector_models).toEqual({ title: { name: 'new', text_key: 'text' } });
    const { result: points } = await request('POST', '/collections/birds/points', {
      ids: [2, 3],
      with_vector: true,
    });
    expect(points.map(({ vector }: { vector: object }) => Object.keys(vector).sort())).toEqual([
      ['picture', 'title'],
      ['picture'],
    ]);
    await expectGood(page, 'a re-embedding that is committed');
  });

  it('C19 shows why the model fails, and aborts at the second press, not at a double click', async () => {
    endpoint.answer = (response, { input }) => {
      if (input[0] === 'text') sendJson(response, 200, embeddings(input));
      else sendJson(response, 400, { error: { message: 'Input is too long' } });
    };
    await fill('plants', ['oak', 'fern']);
    await openForm();
    await form().getByLabel('Vector', { exact: true }).selectOption('picture');
    await form().getByLabel('New model').fill('flaky');
    await begin().click();
    // The vector has no model that would say where the texts are.
    const key = form().getByLabel('Payload key of the texts');
    expect(await page.evaluate('document.activeElement.validity.valueMissing')).toBe(true);
    await key.fill('text');
    await begin().click();
    await page.getByText('0 of 2 points embedded').waitFor();
    await page.getByText('The model fails. It is asked again').waitFor();
    await page.getByText("Model 'flaky' failed").waitFor();
    await expectGood(page, 'a re-embedding whose model fails');
    const place = '/collections/plants/vectors/picture/reembed';
    await page.getByRole('button', { name: 'Abort the re-embedding of picture' }).dblclick();
    const drop = page.getByRole('button', { name: 'Drop the new vectors' });
    await drop.waitFor();
    expect((await request('GET', place)).status).toBe('ok');
    await drop.click();
    await page.getByText('The re-embedding of picture is aborted. Its vectors are the old ones.').waitFor();
    expect((await request('GET', place)).result ?? null).toBeNull();
  });

  it('C19 notices a re-embedding that is begun and ended elsewhere', async () => {
    const place = '/collections/plants/vectors/title/reembed';
    await request('POST', place, { model: 'new', rate: 1 });
    await page.getByRole('heading', { name: 'Re-embedding of title by new' }).waitFor();
    // The info of the collection is the first to say so.
    await page.route('**/reembed', (route) => route.abort());
    const said = page.waitForResponse(
      async (one) =>
        one.url().endsWith('/collections/plants') && (await one.json()).result.reembeddings === undefined,
    );
    await request('POST', `${place}/abort`);
    await said;
    await page.unroute('**/reembed');
    await page.getByText('The re-embedding of title was ended elsewhere.').waitFor();
    await page.getByRole('heading', { name: 'Re-embedding of title by new' }).waitFor({ state: 'detached' });
  });

  it('C21 opens, changes, filters and deletes points by string ids', async () => {
    await request('PUT', '/collections/urls', { vectors: { size: 2, distance: 'Dot' }, ids: 'string' });
    const long = `https://example.com/${'a-long-path/'.repeat(18)}`;
    const ids = [7, '7', 'a/b c?d#e"f', 'a, b', 'two\nlines', 'two  spaces', long];
    const points = ids.map((id, at) => ({ id, vector: [at, 1], payload: { at } }));
    await request('PUT', '/collections/urls/points?wait=true', { points });
    await goTo(page, '#/collections/urls/points');
    const table = page.getByRole('region', { name: 'Points', exact: true });
    await table.getByRole('rowheader').first().waitFor();
    const shown = await table.getByRole('rowheader').allInnerTexts();
    expect(shown).toEqual(['7', '"7"', 'a, b', 'a/b c?d#e"f', long, '"two\\nlines"', 'two  spaces']);

    await table.getByRole('button', { name: 'a/b c?d#e"f', exact: true }).click();
    await page.getByRole('heading', { name: 'Point a/b c?d#e"f' }).waitFor();
    await page.getByRole('button', { name: 'Edit payload' }).click();
    await page.getByRole('textbox', { name: 'Payload' }).fill('{"new": true}');
    await page.getByRole('button', { name: 'Replace the payload' }).click();
    await page.getByRole('button', { name: 'Edit payload' }).waitFor();
    const stored = await request('GET', `/collections/urls/points/${encodeURIComponent('a/b c?d#e"f')}`);
    expect(stored.result.payload).toEqual({ new: true });

    await page.getByLabel('Id', { exact: true }).fill('"7"');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('heading', { name: 'Point "7"' }).waitFor();
    await page.getByRole('button', { name: 'Delete point "7"' }).click();
    await page.getByRole('button', { name: 'Delete the point' }).click();
    await page.getByText('6 points', { exact: true }).waitFor();
    expect((await request('GET', '/collections/urls/points/7')).result.id).toBe(7);

    await page.getByText('Filter', { exact: true }).click();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Operator').selectOption('id is one of');
    await page.getByLabel('Value').fill('7, "a, b", "two\\nlines", "7"');
    await page.getByRole('button', { name: 'Apply the filter' }).click();
    await page.getByText('3 of 6 points match').waitFor();
    await expectGood(page, 'points with string ids');

    await table.getByRole('button', { name: '"two\\nlines"' }).click();
    await page.getByRole('link', { name: 'Find similar' }).click();
    await page.getByText(/^5 points in/).waitFor();
    expect(await page.getByLabel('Id of the point').inputValue()).toBe('"two\\nlines"');
  });
});
