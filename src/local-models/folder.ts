import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** How the vectors of a text's tokens become one vector. */
export const POOLINGS = ['mean', 'cls', 'max', 'last'] as const;
export type Pooling = (typeof POOLINGS)[number];

/** A folder of a model, and what is said of it where its files do not. */
export interface GivenFolder {
  readonly path: string;
  /** In place of what the folder says. */
  readonly pooling?: Pooling;
  /** In place of what the folder says: vectors are divided by their length. */
  readonly normalize?: boolean;
}

/** What a folder says of its model. */
export interface ModelFolder {
  /** The path of the ONNX file. */
  readonly modelFile: string;
  /** `tokenizer.json` and `tokenizer_config.json`. */
  readonly tokenizer: object;
  readonly tokenizerConfig: object;
  /** Undefined where neither the folder nor its entry says it: the model has to do it itself. */
  readonly pooling: Pooling | undefined;
  readonly normalizes: boolean;
  /** Whether there is a step behind the pooling that only the ONNX file can have. */
  readonly hasFurtherSteps: boolean;
  /** Tokens of a text that count, those that the model adds included. */
  readonly mostTokens: number;
  /** The token that fills up shorter texts of a batch. */
  readonly padToken: number;
  readonly isLowerCase: boolean;
  /** What stands before each text. */
  readonly prompt: string;
}

/** Why a folder cannot be used: a sentence that names the file. */
export class BadFolder extends Error {
  override readonly name = 'BadFolder';
}

const MODEL_FILES = ['onnx/model.onnx', 'onnx/model_quantized.onnx', 'model.onnx', 'model_quantized.onnx'];
/** No text has more tokens, whatever its model takes: the memory of a run grows with their square. */
const MAX_TOKENS = 2048;
const USUAL_TOKENS = 512;
const MAX_JSON_BYTES = 256 * 1024 * 1024;

type Json = Record<string, unknown>;

/**
 * Reads a folder in the layout of sentence-transformers.
 * @throws BadFolder
 */
export function readFolder({ path, pooling, normalize }: GivenFolder): ModelFolder {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new BadFolder(`${path} is not a folder`);
  }
  const modelFile = MODEL_FILES.map((name) => join(path, name)).find((file) => existsSync(file));
  if (modelFile === undefined) {
    throw new BadFolder(
      `${path} has no model: expected ${MODEL_FILES.slice(0, -1).join(', ')} or model_quantized.onnx`,
    );
  }
  const read = (name: string): Json | undefined => objectIn(join(path, name));
  const config = required(read, path, 'config.json');
  const tokenizer = required(read, path, 'tokenizer.json');
  const tokenizerConfig = read('tokenizer_config.json') ?? {};
  const sentence = read('sentence_bert_config.json') ?? {};
  const steps = stepsOf(path);
  return {
    modelFile,
    tokenizer,
    tokenizerConfig,
    pooling: pooling ?? steps.pooling,
    normalizes: normalize ?? steps.normalizes,
    hasFurtherSteps: steps.hasFurther,
    mostTokens: mostTokens(
      [sentence['max_seq_length']],
      [tokenizerConfig['model_max_length'], config['max_position_embeddings']],
    ),
    padToken:
      wholeNumber(config['pad_token_id']) ??
      wholeNumber((tokenizer['padding'] as Json | null | undefined)?.['pad_id']) ??
      0,
    isLowerCase: sentence['do_lower_case'] === true,
    prompt: promptOf(read('config_sentence_transformers.json') ?? {}),
  };
}

/** What `modules.json` says of what comes behind the model. */
interface Steps {
  readonly pooling: Pooling | undefined;
  readonly normalizes: boolean;
  readonly hasFurther: boolean;
}

function stepsOf(path: string): Steps {
  const file = join(path, 'modules.json');
  const modules = jsonIn(file);
  if (modules === undefined) return { pooling: undefined, normalizes: false, hasFurther: false };
  if (!Array.isArray(modules)) throw new BadFolder(`${file} is not a list of modules`);
  let pooling: Pooling | undefined;
  let normalizes = false;
  let hasFurther = false;
  for (const module of modules as readonly Json[]) {
    const kind = String(module['type']).split('.').at(-1);
    if (kind === 'Pooling') {
      pooling = poolingIn(join(path, String(module['path']), 'config.json'));
    } else if (kind === 'Normalize') {
      normalizes = true;
    } else if (kind !== 'Transformer') {
      hasFurther = true;
    }
  }
  return { pooling, normalizes, hasFurther };
}

/** The keys of a pooling's configuration, each true where it is done so. */
const POOLING_KEYS: Readonly<Record<string, Pooling>> = {
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_cls_token: 'cls',
  pooling_mode_max_tokens: 'max',
  pooling_mode_lasttoken: 'last',
};
const POOLING_NAMES: Readonly<Record<string, Pooling>> = {
  mean: 'mean',
  cls: 'cls',
  max: 'max',
  lasttoken: 'last',
};

function poolingIn(file: string): Pooling {
  const config = objectIn(file);
  if (config === undefined) throw new BadFolder(`${file} is missing, and modules.json names it`);
  const named = config['pooling_mode'];
  const chosen =
    typeof named === 'string'
      ? [named]
      : Object.keys(config).filter((key) => key.startsWith('pooling_mode_') && config[key] === true);
  const [only] = chosen;
  const known = only === undefined ? undefined : (POOLING_KEYS[only] ?? POOLING_NAMES[only]);
  if (chosen.length !== 1 || known === undefined) {
    const found = chosen.length === 0 ? 'none' : chosen.join(' and ').replaceAll('pooling_mode_', '');
    throw new BadFolder(`${file} has the pooling ${found}: expected one of ${POOLINGS.join(', ')}`);
  }
  return known;
}

/** The first list says it where it does; else the least of the second. */
function mostTokens(first: readonly unknown[], second: readonly unknown[]): number {
  const lengths = (list: readonly unknown[]): number[] =>
    list.map(wholeNumber).filter((length) => length !== undefined && length > 0 && length < 1e9) as number[];
  const said = lengths(first).length > 0 ? lengths(first) : lengths(second);
  return Math.min(...(said.length > 0 ? said : [USUAL_TOKENS]), MAX_TOKENS);
}

function promptOf(config: Json): string {
  const name = config['default_prompt_name'];
  const prompt = typeof name === 'string' ? (config['prompts'] as Json | undefined)?.[name] : undefined;
  return typeof prompt === 'string' ? prompt : '';
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

function required(read: (name: string) => Json | undefined, path: string, name: string): Json {
  const found = read(name);
  if (found === undefined) throw new BadFolder(`${path} has no ${name}`);
  return found;
}

/** The object in a JSON file; undefined where there is no file. */
function objectIn(file: string): Json | undefined {
  const value = jsonIn(file);
  if (value === undefined) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadFolder(`${file} is not a JSON object`);
  }
  return value as Json;
}

function jsonIn(file: string): unknown {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.size > MAX_JSON_BYTES) throw new BadFolder(`${file} has more than ${MAX_JSON_BYTES} bytes`);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new BadFolder(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new BadFolder(`${file} is not valid JSON`);
  }
}
