import { BadFolder, type ModelFolder } from './folder';
import { normalize, pool } from './pooling';
import type { TokenReader } from './tokens';

/** A tensor, as onnxruntime has it. */
export interface TensorLike {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: unknown;
}

/** What this uses of an inference session. */
export interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(
    feeds: Readonly<Record<string, TensorLike>>,
    fetches: readonly string[],
  ): Promise<Readonly<Record<string, TensorLike>>>;
}

/** Makes a tensor of 64-bit integers. */
export type MakeTensor = (data: BigInt64Array, dims: readonly number[]) => TensorLike;

/** Tokens of one run, those that fill up shorter texts included; a longer text has a run of its own. */
const MAX_TOKENS_A_RUN = 4096;
/** Outputs in the order in which they are taken: one that is a text's vector, then those that are its tokens'. */
const TEXT_OUTPUT = 'sentence_embedding';
const TOKEN_OUTPUTS = ['last_hidden_state', 'token_embeddings'];
/** How the inputs that a model may have are made of the numbers of tokens. */
const INPUTS: Readonly<Record<string, (tokens: readonly number[], at: number, pad: number) => number>> = {
  input_ids: (tokens, at, pad) => tokens[at] ?? pad,
  attention_mask: (tokens, at) => Number(at < tokens.length),
  token_type_ids: () => 0,
  position_ids: (tokens, at) => Math.min(at, Math.max(tokens.length - 1, 0)),
};

/** A text of which no vector can be made; `text` is its place among those of the call. */
export class TextFailure extends Error {
  constructor(
    message: string,
    readonly text: number,
  ) {
    super(message);
  }
}

/** Makes vectors of texts with a model of a folder. */
export class Encoder {
  readonly #output: string;

  /** @throws BadFolder where the model has other inputs or outputs than models of texts have. */
  constructor(
    private readonly folder: ModelFolder,
    private readonly reader: TokenReader,
    private readonly session: Session,
    private readonly tensor: MakeTensor,
  ) {
    const unknown = session.inputNames.find((name) => !(name in INPUTS));
    if (unknown !== undefined) {
      throw new BadFolder(
        `${folder.modelFile} has the input ${unknown}: expected those of a model of texts, ${Object.keys(INPUTS).join(', ')}`,
      );
    }
    this.#output = outputOf(folder, session.outputNames);
  }

  /** The vectors of texts in their order, one after the other. @throws TextFailure */
  async encode(texts: readonly string[]): Promise<Float32Array> {
    const tokens = texts.map((text) => this.#tokensOf(text));
    let vectors: Float32Array | undefined;
    for (const run of runs(tokens)) {
      const found = await this.#run(run.map((text) => tokens[text] ?? []));
      const dimension = found.length / run.length;
      vectors ??= new Float32Array(texts.length * dimension);
      for (const [place, text] of run.entries()) {
        const vector = found.subarray(place * dimension, (place + 1) * dimension);
        if (!vector.every(Number.isFinite))
          throw new TextFailure('its vector has a component that is no number', text);
        vectors.set(vector, text * dimension);
      }
    }
    return vectors ?? new Float32Array(0);
  }

  #tokensOf(text: string): readonly number[] {
    const { isLowerCase, prompt } = this.folder;
    const whole = prompt + text;
    return this.reader.tokensOf(isLowerCase ? whole.toLowerCase() : whole);
  }

  /** The vectors of some texts in one run of the model. */
  async #run(texts: readonly (readonly number[])[]): Promise<Float32Array> {
    const tokens = Math.max(1, ...texts.map(({ length }) => length));
    const feeds: Record<string, TensorLike> = {};
    for (const name of this.session.inputNames) {
      feeds[name] = this.#input(name, texts, tokens);
    }
    const output = (await this.session.run(feeds, [this.#output]))[this.#output];
    if (output?.type !== 'float32') {
      throw new BadFolder(
        `${this.folder.modelFile} answers with ${output?.type ?? 'nothing'} in place of float32`,
      );
    }
    return this.#vectors(output, texts, tokens);
  }

  #input(name: string, texts: readonly (readonly number[])[], tokens: number): TensorLike {
    const data = new BigInt64Array(texts.length * tokens);
    const value = INPUTS[name];
    for (const [text, own] of texts.entries()) {
      for (let at = 0; at < tokens; at += 1) {
        data[text * tokens + at] = BigInt(value?.(own, at, this.folder.padToken) ?? 0);
      }
    }
    return this.tensor(data, [texts.length, tokens]);
  }

  #vectors({ dims, data }: TensorLike, texts: readonly (readonly number[])[], tokens: number): Float32Array {
    const { pooling, normalizes, modelFile } = this.folder;
    const values = data as Float32Array;
    const dimension = dims.at(-1) ?? 0;
    const isText = this.#output === TEXT_OUTPUT;
    const expected = isText ? [texts.length, dimension] : [texts.length, tokens, dimension];
    if (
      dimension === 0 ||
      dims.length !== expected.length ||
      dims.some((size, at) => size !== expected[at])
    ) {
      throw new BadFolder(
        `${modelFile} answers with a tensor of [${dims.join(', ')}] in place of [${expected.join(', ')}]`,
      );
    }
    const vectors = new Float32Array(texts.length * dimension);
    for (const [text, { length }] of texts.entries()) {
      const vector = vectors.subarray(text * dimension, (text + 1) * dimension);
      if (isText || pooling === undefined)
        vector.set(values.subarray(text * dimension, (text + 1) * dimension));
      else pool(pooling, { data: values, tokens, dimension }, { text, length }, vector);
      if (normalizes) normalize(vector);
    }
    return vectors;
  }
}

/** @throws BadFolder where no output is known, or what is behind it is missing. */
function outputOf({ modelFile, pooling, hasFurtherSteps }: ModelFolder, names: readonly string[]): string {
  if (names.includes(TEXT_OUTPUT)) return TEXT_OUTPUT;
  if (hasFurtherSteps) {
    throw new BadFolder(
      `${modelFile} has no output ${TEXT_OUTPUT}, and modules.json names steps behind the pooling: export the model with them`,
    );
  }
  const output = TOKEN_OUTPUTS.find((name) => names.includes(name));
  if (output === undefined) {
    throw new BadFolder(
      `${modelFile} has the outputs ${names.join(', ')}: expected ${TEXT_OUTPUT} or ${TOKEN_OUTPUTS.join(' or ')}`,
    );
  }
  if (pooling === undefined) {
    throw new BadFolder(
      `nothing says how ${modelFile} makes one vector of those of its tokens: give the entry a pooling (mean, cls, max or last)`,
    );
  }
  return output;
}

/** The numbers of the texts in parts for one run each, those of like lengths together. */
function runs(texts: readonly (readonly number[])[]): number[][] {
  const byLength = [...texts.keys()].sort((a, b) => (texts[a]?.length ?? 0) - (texts[b]?.length ?? 0));
  const parts: number[][] = [];
  for (const text of byLength) {
    const length = texts[text]?.length ?? 0;
    const last = parts.at(-1);
    if (last === undefined || (last.length + 1) * length > MAX_TOKENS_A_RUN) parts.push([text]);
    else last.push(text);
  }
  return parts;
}
