import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineError, type TextInput } from '../../src/engine/types';
import { Encoder, type Session, type TensorLike } from '../../src/local-models/encoder';
import { readFolder, type GivenFolder } from '../../src/local-models/folder';
import { TokenReader, type Tokenizer as TokenizerOf } from '../../src/local-models/tokens';
import type { OpenModel } from '../../src/local-models';
import { ConfiguredModels } from '../../src/models/configured-models';
import { loadLocalModels } from '../../src/models/local-package';
import { until } from '../until';
import { tokenizer, writeTinyModel, type TinyOptions } from './tiny-model';

const { Tokenizer } = createRequire(__filename)('@huggingface/tokenizers') as {
  Tokenizer: new (tokenizer: object, config: object) => TokenizerOf;
};

let root: string;
let made = 0;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'kithdb-local-models-'));
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

function folder(options: TinyOptions = {}): string {
  made += 1;
  return writeTinyModel(join(root, String(made)), options);
}

/** A session that answers with vectors of tokens, or of texts: the token itself, its place and whether it counts. */
function session(outputs: readonly string[], answers?: (dims: readonly number[]) => TensorLike): Session {
  return {
    inputNames: ['input_ids', 'attention_mask', 'token_type_ids', 'position_ids'],
    outputNames: outputs,
    run: (feeds, [output = '']) => {
      const { dims, data } = feeds['input_ids']!;
      const tokens = [...(data as BigInt64Array)].map(Number);
      const places = [...(feeds['position_ids']!.data as BigInt64Array)].map(Number);
      const values = tokens.flatMap((token, at) => [token, places[at] ?? 0]);
      const usual = { type: 'float32', dims: [...dims, 2], data: Float32Array.from(values) };
      return Promise.resolve({ [output]: answers?.(dims) ?? usual });
    },
  };
}

function encoder(given: GivenFolder, with_ = session(['last_hidden_state'])): Encoder {
  const read = readFolder(given);
  const reader = new TokenReader(new Tokenizer(read.tokenizer, read.tokenizerConfig), read.mostTokens);
  return new Encoder(read, reader, with_, (data, dims) => ({ type: 'int64', dims, data }));
}

describe('C16 a model of a folder', () => {
  // [CLS] is 2, owl 4, swift 5, ##s 8, [SEP] 3.
  it.each([
    ['mean', { pooling_mode_mean_tokens: true }, [3, 1], [4.25, 1.5]],
    ['cls', { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false }, [2, 0], [2, 0]],
    ['max', { pooling_mode_max_tokens: true }, [4, 2], [8, 3]],
    ['last', { pooling_mode_lasttoken: true }, [3, 2], [3, 3]],
    ['mean, by its name', { pooling_mode: 'mean' }, [3, 1], [4.25, 1.5]],
  ])(
    'C16 takes the pooling %s from its folder, whatever else is in the batch',
    async (_, pooling, one, two) => {
      const path = folder({ pooling, normalizes: false });
      expect([...(await encoder({ path }).encode(['OWL', 'owls', 'owl']))]).toEqual([...one, ...two, ...one]);
    },
  );

  it('C16 divides vectors by their length where the folder or the entry says so', async () => {
    const path = folder({ pooling: { pooling_mode: 'cls' } });
    expect([...(await encoder({ path }).encode(['owl']))]).toEqual([1, 0]);
    expect([...(await encoder({ path, normalize: false }).encode(['owl']))]).toEqual([2, 0]);
    const plain = { path: folder({ pooling: null }), pooling: 'max' as const };
    expect([...(await encoder(plain).encode(['owl']))]).toEqual([4, 2]);
    expect([...(await encoder({ ...plain, normalize: true }).encode(['owl']))][0]).toBeCloseTo(
      4 / Math.sqrt(20),
    );
  });

  it('C16 takes the vector of a text where the model makes one', async () => {
    const answers = ([texts = 0]: readonly number[]) => ({
      ...{ type: 'float32', dims: [texts, 3], data: new Float32Array(texts * 3).fill(2) },
    });
    const made = encoder({ path: folder({ pooling: null }) }, session(['x', 'sentence_embedding'], answers));
    expect([...(await made.encode(['owl', 'oak']))]).toEqual(Array(6).fill(2));
  });

  it('C16 cuts a text to the tokens that its model takes, and reads no more of it', () => {
    const read: string[] = [];
    const real = new Tokenizer(tokenizer(), {});
    const reader = new TokenReader(
      { encode: (text, options) => (read.push(text), real.encode(text, options)) },
      6,
    );
    const text = 'owls '.repeat(100_000);
    expect(reader.tokensOf(text)).toEqual([2, 4, 8, 4, 8, 3]);
    expect(Math.max(...read.map(({ length }) => length))).toBeLessThan(1000);
    // The words of which there are few tokens in many characters.
    expect(reader.tokensOf(`${' '.repeat(5000)}oak fern`)).toEqual([2, 6, 7, 3]);
    expect(reader.tokensOf('')).toEqual([2, 3]);
  });

  it.each<[string, (path: string) => Partial<GivenFolder> | undefined, string]>([
    ['no folder', () => ({ path: join(__filename) }), 'is not a folder'],
    [
      'no model',
      (path) => (rmSync(join(path, 'onnx', 'model.onnx')), {}),
      'has no model: expected onnx/model.onnx',
    ],
    ['no tokenizer', (path) => (rmSync(join(path, 'tokenizer.json')), {}), 'has no tokenizer.json'],
    ['no configuration', (path) => (rmSync(join(path, 'config.json')), {}), 'has no config.json'],
    ['JSON that is none', (path) => (writeFileSync(join(path, 'config.json'), '{'), {}), 'is not valid JSON'],
    ['a list', (path) => (writeFileSync(join(path, 'config.json'), '[]'), {}), 'is not a JSON object'],
    [
      'two poolings',
      (path) => {
        const both = { pooling_mode_mean_tokens: true, pooling_mode_max_tokens: true };
        writeFileSync(join(path, '1_Pooling', 'config.json'), JSON.stringify(both));
        return {};
      },
      'has the pooling mean_tokens and max_tokens: expected one of mean, cls, max, last',
    ],
    [
      'a further step',
      (path) => {
        const steps = [{ type: 'sentence_transformers.models.Dense', path: '2_Dense' }];
        writeFileSync(join(path, 'modules.json'), JSON.stringify(steps));
        return {};
      },
      'names steps behind the pooling',
    ],
    ['nothing about pooling', (path) => (rmSync(join(path, 'modules.json')), {}), 'give the entry a pooling'],
  ])('C16 says what is wrong: %s', (_, spoil, why) => {
    const path = folder();
    expect(() => encoder({ path, ...spoil(path) })).toThrow(why);
  });

  it('C16 says what is wrong with what the model is asked, and with what it answers', async () => {
    const path = folder();
    const images = { ...session(['last_hidden_state']), inputNames: ['pixel_values'] };
    expect(() => encoder({ path }, images)).toThrow('has the input pixel_values');
    expect(() => encoder({ path }, session(['logits']))).toThrow('has the outputs logits');
    const answers = (tensor: Partial<TensorLike>) => (dims: readonly number[]) => ({
      ...{ type: 'float32', dims: [...dims, 1], data: new Float32Array(dims[0]! * dims[1]!) },
      ...tensor,
    });
    const answering = (tensor: Partial<TensorLike>): Promise<Float32Array> =>
      encoder({ path }, session(['last_hidden_state'], answers(tensor))).encode(['owl']);
    await expect(answering({ type: 'float16' })).rejects.toThrow('answers with float16');
    await expect(answering({ dims: [1, 3] })).rejects.toThrow('a tensor of [1, 3] in place of [1, 3, 3]');
  });
});

/** A model whose calls the test ends. */
class Held implements OpenModel {
  readonly dimension = 1;
  hasEnded = false;
  isClosed = false;
  readonly calls: string[] = [];
  readonly #ends: (() => void)[] = [];

  vectors(texts: readonly string[]): Promise<Float32Array> {
    this.calls.push(texts.join(' '));
    return new Promise((resolve) => {
      this.#ends.push(() => {
        resolve(Float32Array.from(texts, ({ length }) => length));
      });
    });
  }

  /** Ends the call that runs. */
  async end(): Promise<void> {
    await until(() => this.#ends.length > 0);
    this.#ends.shift()?.();
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

describe('C16 the queue of a model of a folder', () => {
  const inputs = (...texts: string[]): TextInput[] =>
    texts.map((text, at) => ({ place: `points[${String(at)}].vector`, model: 'm', text, at }));
  const context = (signal = new AbortController().signal) => ({
    signal,
    read: () => Promise.reject(new Error('nothing is read')),
    hold: () => undefined,
  });
  const open = (load: () => Promise<OpenModel>, more: object = {}): Promise<ConfiguredModels> =>
    ConfiguredModels.open([{ name: 'm', path: root, ...more }], { load });
  const words = (letter: string, count: number): string[] =>
    Array.from({ length: count }, (_, at) => `${letter}${String(at)}`);

  it('C16 has eight texts in a call, and lets a query come between those of an upsert', async () => {
    const held = new Held();
    const models = await open(() => Promise.resolve(held));
    const upsert = models.vectors(inputs(...words('a', 24)), context());
    const query = models.vectors(inputs('q'), context());
    for (let call = 0; call < 4; call += 1) await held.end();
    expect((await upsert).length).toBe(24);
    expect([...new Float32Array(new Uint8Array((await query)[0]!).buffer)]).toEqual([1]);
    expect(held.calls.map((texts) => texts.split(' ').length)).toEqual([8, 1, 8, 8]);
    await models.close();
    expect(held.isClosed).toBe(true);
  });

  it('C16 answers at once when a request is over, and runs nothing more for it', async () => {
    const held = new Held();
    const models = await open(() => Promise.resolve(held));
    const over = new AbortController();
    const given = models.vectors(inputs(...words('a', 24)), context(over.signal));
    await until(() => held.calls.length === 1);
    const next = models.vectors(inputs('q'), context());
    over.abort(new EngineError('cancelled'));
    await expect(given).rejects.toMatchObject({ code: 'cancelled' });
    // Nothing stops the run: the next one waits for its end.
    expect(held.calls).toHaveLength(1);
    await held.end();
    await held.end();
    expect(await next).toHaveLength(1);
    expect(held.calls).toHaveLength(2);
  });

  it('C16 names the model and the place of the text that failed', async () => {
    const failing = new Held();
    failing.vectors = () => Promise.reject(Object.assign(new Error('no memory'), { text: 1 }));
    const models = await open(() => Promise.resolve(failing));
    await expect(models.vectors(inputs('a', 'b'), context())).rejects.toMatchObject({
      code: 'model_failed',
      details: { name: 'm', message: 'no memory', place: 'points[1].vector' },
    });
  });

  it('C16 loads a model again whose thread has ended', async () => {
    const opened: Held[] = [];
    const models = await open(() => {
      opened.push(new Held());
      return Promise.resolve(opened.at(-1)!);
    });
    opened[0]!.hasEnded = true;
    const found = models.vectors(inputs('a'), context());
    await until(() => opened.length === 2);
    await opened[1]!.end();
    expect(await found).toHaveLength(1);
  });

  it('C16 loads no model when it is closed, and keeps none that was just being loaded', async () => {
    const opened: Held[] = [];
    let goOn = (): void => undefined;
    const models = await open(async () => {
      opened.push(new Held());
      const one = opened.at(-1)!;
      if (opened.length > 1) await new Promise<void>((resolve) => (goOn = resolve));
      return one;
    });
    opened[0]!.hasEnded = true;
    const loading = models.vectors(inputs('a'), context());
    await until(() => opened.length === 2);
    await models.close();
    goOn();
    await expect(loading).rejects.toMatchObject({ code: 'model_failed' });
    expect(opened[1]!.isClosed).toBe(true);
    await expect(models.vectors(inputs('b'), context())).rejects.toMatchObject({ code: 'model_failed' });
    expect(opened).toHaveLength(2);
  });

  it('C16 is not opened with vectors of another length, or without its package', async () => {
    const held = new Held();
    await expect(open(() => Promise.resolve(held), { dimension: 3 })).rejects.toThrow(
      "names the model 'm', whose vectors have 1 components in place of 3",
    );
    expect(held.isClosed).toBe(true);
    const missing = Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
    await expect(open(() => Promise.reject(missing))).rejects.toThrow(
      /names the model 'm', which cannot be used: .*npm install --ignore-scripts \.\/kithdb-models-\d[\w.-]*\.tgz/,
    );
    expect(await loadLocalModels()).toHaveProperty('openModel');
  });
});
