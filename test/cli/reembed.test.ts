import { ContractServer } from '../contract/contract-server';
import { embeddings, FakeEndpoint, sendJson } from '../models/fake-endpoint';
import { kithdb, type Outcome } from './console';

/** `kithdb reembed` (C11.4, C19), beside a whole server with a model. */
describe('C19 kithdb reembed', () => {
  let endpoint: FakeEndpoint;
  let server: ContractServer;

  beforeAll(async () => {
    endpoint = await FakeEndpoint.start();
    const models = [{ name: 'new', url: endpoint.url, model: 'fake' }];
    server = await ContractServer.start([], { KITHDB_MODELS: JSON.stringify(models) });
    const model = { name: 'old', text_key: 'text' };
    await server.collection('notes', { vectors: { size: 2, distance: 'Dot', model } });
    const points = [
      { id: 1, vector: [1, 0], payload: { text: 'aab' } },
      { id: 2, vector: [2, 0], payload: { text: 'bb' } },
      { id: 3, vector: [3, 0] },
    ];
    await server.ok('PUT', '/collections/notes/points', { points });
  });
  afterAll(async () => {
    await server.stop();
    await endpoint.stop();
  });

  const reembed = (...flags: string[]): Promise<Outcome> =>
    kithdb(['reembed', 'notes', '--url', `http://127.0.0.1:${server.port}`, ...flags]);

  it('embeds every text, and commits where that is asked for and nothing is missing', async () => {
    expect(await reembed('--model', 'new', '--rate', '1000')).toMatchObject({
      code: 0,
      out: '2 points embedded; 1 point without a text. --commit puts them in place.\n',
    });
    expect(await reembed('--commit')).toMatchObject({
      code: 3,
      out: '2 points embedded; 1 point without a text, so nothing was committed.\n',
    });
    // The same again goes on with the one that is under way.
    const done = await reembed('--model', 'new', '--commit', '--allow-missing', '--json');
    expect([done.code, JSON.parse(done.out)]).toEqual([
      0,
      expect.objectContaining({ state: 'committed', done: 2, total: 3, missing_texts: 1 }),
    ]);
    const [point] = await server.ok('POST', '/collections/notes/points', { ids: [1], with_vector: true });
    expect(point.vector).toEqual([2, 1, 3]);
  });

  it('says why the model fails, and gives a re-embedding up', async () => {
    await server.ok('PATCH', '/collections/notes', {
      vectors: { '': { model: { name: 'x', text_key: 'text' } } },
    });
    let failures = 0;
    endpoint.answer = (response, { input }) => {
      if (input[0] === 'text' || failures > 0) {
        sendJson(response, 200, embeddings(input));
      } else {
        failures += 1;
        sendJson(response, 400, {});
      }
    };
    // Not in the cache, so that the model is asked.
    await server.ok('POST', '/collections/notes/points/payload', {
      points: [1],
      payload: { text: 'another' },
    });
    const { code, err } = await reembed('--model', 'new');
    expect([code, err]).toEqual([0, expect.stringContaining('The model failed and is asked again: ')]);
    expect(await reembed('--abort')).toMatchObject({ code: 0, out: 'It is given up.\n' });
    expect((await reembed('--abort')).code).toBe(1);
  });

  it('goes on with no re-embedding that has another text key, size or rate', async () => {
    const begun = ['--model', 'new', '--text-key', 'text', '--size', '3', '--rate', '1000'];
    expect((await reembed(...begun)).code).toBe(0);
    for (const others of [
      ['--text-key', 'body'],
      ['--size', '2'],
      ['--rate', '5'],
    ]) {
      const refused = await reembed('--model', 'new', ...others, '--commit', '--allow-missing');
      expect([others, refused]).toEqual([
        others,
        { code: 1, out: '', err: expect.stringContaining('is being embedded') },
      ]);
    }
    expect((await reembed(...begun)).code).toBe(0);
    expect((await reembed('--abort')).code).toBe(0);
  });

  it('refuses what it does not understand', async () => {
    expect((await reembed('--rate', '5')).code).toBe(2);
    expect((await kithdb(['reembed'])).code).toBe(2);
    expect(await reembed('--model', 'nobody')).toMatchObject({
      code: 1,
      err: expect.stringContaining("unknown model 'nobody'"),
    });
  });
});
