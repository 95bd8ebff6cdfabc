import { EngineError, type TextInput } from '../../src/engine/types';
import { ConfiguredModels } from '../../src/models/configured-models';
import { Semaphore } from '../../src/models/semaphore';
import { VectorCache } from '../../src/models/vector-cache';
import { warningsOf } from '../client/warnings';
import { FakeEndpoint, sendJson } from './fake-endpoint';

/** What the engine reads of an answer. */
function read(answer: Buffer): Promise<Buffer> {
  const { data } = JSON.parse(answer.toString()) as { data: { index: number; embedding: number[] }[] };
  data.sort((a, b) => a.index - b.index);
  const [first] = data;
  const out = Buffer.alloc(4);
  out.writeUInt32LE(first?.embedding.length ?? 0);
  const vectors = data.map(({ embedding }) => Buffer.from(Float32Array.from(embedding).buffer));
  return Promise.resolve(Buffer.concat([out, ...vectors]));
}

const inputs = (...texts: string[]): TextInput[] =>
  texts.map((text, at) => ({ place: `points[${String(at)}].vector`, model: 'm', text, at }));

const floats = (vector: Buffer | undefined): number[] => [
  ...new Float32Array(new Uint8Array(vector ?? []).buffer),
];

describe('C16 the models of a configuration', () => {
  let endpoint: FakeEndpoint;
  beforeAll(async () => {
    endpoint = await FakeEndpoint.start();
  });
  afterAll(() => endpoint.stop());
  beforeEach(() => {
    endpoint.forget();
  });

  const context = (signal = new AbortController().signal) => ({ signal, read, hold: () => undefined });
  const models = (options: object = {}): Promise<ConfiguredModels> =>
    ConfiguredModels.open([{ name: 'm', url: endpoint.url, model: 'x' }], { pausesMs: [1, 1], ...options });

  it('C16 answer in the order of the texts, and ask for a text once', async () => {
    const found = await (await models()).vectors(inputs('a', 'bb', 'a'), context());
    expect(found.map(floats)).toEqual([
      [1, 0, 1],
      [0, 2, 2],
      [1, 0, 1],
    ]);
    expect(endpoint.texts).toEqual(['a', 'bb']);
  });

  it('C16 C11.6 embed many texts without a warning of Node', async () => {
    const texts = Array.from({ length: 1000 }, (_, at) => `text ${at}`);
    const many = await models();
    const warnings = await warningsOf(() => many.vectors(inputs(...texts), context()));
    expect(endpoint.calls).toHaveLength(16);
    expect(warnings).toEqual([]);
  });

  it('C16 keep no more of a vector than its bytes', async () => {
    const found = await (await models()).vectors(inputs('a', 'bb'), context());
    expect(found.map(({ buffer, length }) => [buffer.byteLength, length])).toEqual([
      [12, 12],
      [12, 12],
    ]);
  });

  it('C16 send a long text alone', async () => {
    const long = 'x'.repeat(300_000);
    await (await models()).vectors(inputs('a', long, 'b'), context());
    expect(endpoint.calls.map(({ input }) => input.length).sort()).toEqual([1, 1, 1]);
  });

  it('C16 give up after repetitions, and say the last status', async () => {
    endpoint.answer = (response) => {
      sendJson(response, 500, {});
    };
    const failed = (await models()).vectors(inputs('a'), context());
    await expect(failed).rejects.toMatchObject({
      code: 'model_failed',
      details: { name: 'm', message: 'it answered 500', place: 'points[0].vector' },
    });
    expect(endpoint.calls).toHaveLength(3);
  });

  it('C16 do not wait for longer than they are ready to', async () => {
    endpoint.answer = (response) => {
      sendJson(response, 429, {}, { 'retry-after': '3600' });
    };
    await expect((await models()).vectors(inputs('a'), context())).rejects.toThrow('it answered 429');
    expect(endpoint.calls).toHaveLength(1);
  });

  it('C16 end with the reason of the request', async () => {
    endpoint.answer = () => undefined;
    const over = new AbortController();
    const waiting = (await models()).vectors(inputs('a'), context(over.signal));
    over.abort(new EngineError('cancelled'));
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('C16 hold what they were answered, and fail where there is no room', async () => {
    const held: number[] = [];
    const hold = (bytes: number): void => {
      held.push(bytes);
      throw new EngineError('overloaded');
    };
    const refused = (await models()).vectors(inputs('a'), { ...context(), hold });
    await expect(refused).rejects.toMatchObject({ code: 'overloaded' });
    expect(held).toEqual([16]);
  });

  it('C16 keep vectors up to a number of bytes', async () => {
    const bounded = await models({ cacheBytes: 2 * (200 + 12) });
    for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) await bounded.vectors(inputs(text), context());
    expect(endpoint.texts).toEqual(['a', 'b', 'c', 'b']);
  });

  it('C16 do not take one text for another of another model', () => {
    const cache = new VectorCache(10_000);
    cache.put('m', 'ab', Buffer.from([1]));
    expect(cache.get('ma', 'b')).toBeUndefined();
    cache.put('m', 'ab', Buffer.from([2]));
    expect([cache.get('m', 'ab'), cache.bytes]).toEqual([Buffer.from([2]), 201]);
  });

  it('C16 refuse calls where too many wait, and forget those that are given up', async () => {
    const semaphore = new Semaphore(1, 1);
    const { signal } = new AbortController();
    let finish = (): void => undefined;
    const first = semaphore.run(
      signal,
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const over = new AbortController();
    const second = semaphore.run(over.signal, () => Promise.resolve());
    await expect(semaphore.run(signal, () => Promise.resolve())).rejects.toMatchObject({
      code: 'overloaded',
    });
    over.abort(new EngineError('cancelled'));
    await expect(second).rejects.toMatchObject({ code: 'cancelled' });
    const third = semaphore.run(signal, () => Promise.resolve(3));
    finish();
    await first;
    expect(await third).toBe(3);
  });
});
