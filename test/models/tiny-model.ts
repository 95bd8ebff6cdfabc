/** A model of texts that is small enough to be written by a test: words, each with a vector of its own. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The vector of each token: birds, plants, and the rest. */
const VOCABULARY: readonly (readonly [string, readonly number[]])[] = [
  ['[PAD]', [9, 9, 9]],
  ['[UNK]', [0, 0, 1]],
  ['[CLS]', [0, 0, 0]],
  ['[SEP]', [0, 0, 0]],
  ['owl', [1, 0, 0]],
  ['swift', [1, 0, 0.5]],
  ['oak', [0, 1, 0]],
  ['fern', [0, 1, 0.5]],
  ['##s', [0, 0, 0]],
  // What a model without fault never has.
  ['poison', [Number.NaN, 0, 0]],
];
export const TINY_DIMENSION = 3;

/** What differs from a whole and quick model. */
export interface TinyOptions {
  /** Multiplications of matrices of 512 × 512 for each token, which change nothing. */
  readonly slowness?: number;
  readonly pooling?: object | null;
  readonly normalizes?: boolean;
  readonly output?: string;
  readonly input?: string;
}

/** Writes a folder in the layout of sentence-transformers. */
export function writeTinyModel(folder: string, options: TinyOptions = {}): string {
  const { pooling = { word_embedding_dimension: TINY_DIMENSION, pooling_mode_mean_tokens: true } } = options;
  const json = (name: string, value: object): void => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), JSON.stringify(value));
  };
  json('config.json', { model_type: 'bert', pad_token_id: 0, max_position_embeddings: 64 });
  json('sentence_bert_config.json', { max_seq_length: 16, do_lower_case: false });
  json('tokenizer_config.json', { tokenizer_class: 'BertTokenizer', do_lower_case: true });
  json('tokenizer.json', tokenizer());
  if (pooling !== null) {
    const normalize = {
      idx: 2,
      name: '2',
      path: '2_Normalize',
      type: 'sentence_transformers.models.Normalize',
    };
    json('modules.json', [
      { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
      { idx: 1, name: '1', path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
      ...(options.normalizes === false ? [] : [normalize]),
    ]);
    json('1_Pooling/config.json', pooling);
  }
  mkdirSync(join(folder, 'onnx'), { recursive: true });
  writeFileSync(join(folder, 'onnx', 'model.onnx'), onnx(options));
  return folder;
}

/** The tokenizer of BERT over the words above. */
export function tokenizer(): object {
  const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'].map((content, id) => ({
    ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
  }));
  const around = (id: string, at: number) => ({ id, ids: [at], tokens: [id] });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: special,
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '[CLS]', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '[SEP]', type_id: 0 } },
      ],
      pair: [],
      special_tokens: { '[CLS]': around('[CLS]', 2), '[SEP]': around('[SEP]', 3) },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(VOCABULARY.map(([word], id) => [word, id])),
    },
  };
}

// The few messages of ONNX's format (Protocol Buffers) that a graph needs, by the numbers of their fields.

const INT64 = 7;
const FLOAT = 1;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

const number = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field: number, value: Buffer | string): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(Buffer.byteLength(value)), Buffer.from(value)]);
const message = (field: number, ...parts: readonly Buffer[]): Buffer => bytes(field, Buffer.concat(parts));

const node = (
  operation: string,
  inputs: readonly string[],
  output: string,
  ...attributes: readonly Buffer[]
): Buffer =>
  message(1, ...inputs.map((name) => bytes(1, name)), bytes(2, output), bytes(4, operation), ...attributes);
const tensor = (field: number, name: string, type: number, dims: readonly number[], data: Buffer): Buffer =>
  message(field, ...dims.map((size) => number(1, size)), number(2, type), bytes(8, name), bytes(9, data));
const value = (field: number, name: string, type: number, dims: readonly (string | number)[]): Buffer => {
  const shape = dims.map((size) => message(1, typeof size === 'number' ? number(1, size) : bytes(2, size)));
  return message(field, bytes(1, name), message(2, message(1, number(1, type), message(2, ...shape))));
};
const floats = (values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const integers = (values: readonly number[]): Buffer =>
  Buffer.from(BigInt64Array.from(values, BigInt).buffer);

const SIDE = 512;

/** A graph that looks up the vector of each token. */
function onnx({ slowness = 0, output = 'last_hidden_state', input = 'input_ids' }: TinyOptions): Buffer {
  const looked = slowness === 0 ? output : 'looked_up';
  const nodes = [node('Gather', ['table', input], looked)];
  const constants = [
    tensor(
      5,
      'table',
      FLOAT,
      [VOCABULARY.length, TINY_DIMENSION],
      floats(VOCABULARY.flatMap(([, own]) => own)),
    ),
  ];
  if (slowness > 0) {
    // [b, t, 3] × [3, 512] × … × [512, 3] of zeros, added to what was looked up.
    const zeros = (name: string, dims: readonly number[]): void => {
      constants.push(tensor(5, `${name}_shape`, INT64, [dims.length], integers(dims)));
      nodes.push(node('ConstantOfShape', [`${name}_shape`], name));
    };
    zeros('wide', [TINY_DIMENSION, SIDE]);
    zeros('square', [SIDE, SIDE]);
    zeros('narrow', [SIDE, TINY_DIMENSION]);
    nodes.push(node('MatMul', [looked, 'wide'], 'step_0'));
    for (let step = 1; step <= slowness; step += 1) {
      nodes.push(node('MatMul', [`step_${String(step - 1)}`, 'square'], `step_${String(step)}`));
    }
    nodes.push(node('MatMul', [`step_${String(slowness)}`, 'narrow'], 'nothing'));
    nodes.push(node('Add', [looked, 'nothing'], output));
  }
  const graph = message(
    7,
    ...nodes,
    bytes(2, 'tiny'),
    ...constants,
    value(11, input, INT64, ['batch', 'tokens']),
    value(11, 'attention_mask', INT64, ['batch', 'tokens']),
    value(12, output, FLOAT, ['batch', 'tokens', TINY_DIMENSION]),
  );
  return Buffer.concat([number(1, 8), message(8, bytes(1, ''), number(2, 13)), graph]);
}
