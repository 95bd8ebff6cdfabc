import { resolve } from 'node:path';
import { BadModel } from './bad-model';

/** A model that an endpoint runs which speaks OpenAI's embeddings API (C16). */
export interface EndpointModel {
  /** The name by which requests ask for it. */
  readonly name: string;
  /** The base URL of the API, such as `https://api.openai.com/v1`: `/embeddings` is added. */
  readonly url: string;
  /** The name by which the endpoint knows the model. */
  readonly model: string;
  /** A file with the API key, which is sent as a bearer token. It is read again for each call. */
  readonly keyFile?: string;
  /** The number of components of its vectors; one of another length is a failure. */
  readonly dimension?: number;
}

/** A model that runs in this process, from a folder in the layout of sentence-transformers (C16). */
export interface FolderModel {
  /** The name by which requests ask for it. */
  readonly name: string;
  /** The folder, absolute. */
  readonly path: string;
  /** How the vectors of a text's tokens become one vector, where the folder does not say it or says otherwise. */
  readonly pooling?: Pooling;
  /** Whether vectors are divided by their length, in place of what the folder says. */
  readonly normalize?: boolean;
  /** The number of components of its vectors; one that makes others is an error at the start. */
  readonly dimension?: number;
}

export type TextModel = EndpointModel | FolderModel;

const POOLINGS = ['mean', 'cls', 'max', 'last'] as const;
type Pooling = (typeof POOLINGS)[number];

/** What one entry of the list may have, and the key of the model for each. */
const ENDPOINT_KEYS: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['url', 'url'],
  ['model', 'model'],
  ['key_file', 'keyFile'],
  ['keyFile', 'keyFile'],
  ['dimension', 'dimension'],
]);
const FOLDER_KEYS: ReadonlyMap<string, string> = new Map(
  ['name', 'path', 'pooling', 'normalize', 'dimension'].map((key) => [key, key]),
);

/** Models in one list. */
const MAX_MODELS = 256;
const MAX_NAME_CHARACTERS = 256;
const MAX_DIMENSION = 65_536;
/** Models that the engine has, in lower case. */
const BUILT_IN: ReadonlySet<string> = new Set(['qdrant/bm25']);

/**
 * Checks a list of models.
 * @throws BadModel that names the entry and what is wrong.
 */
export function checkModels(list: unknown): readonly TextModel[] {
  if (!Array.isArray(list)) {
    throw new BadModel(
      'must be a list of {name, url, model, key_file?, dimension?} or {name, path, pooling?, normalize?, dimension?}',
    );
  }
  if (list.length > MAX_MODELS) {
    throw new BadModel(`at most ${MAX_MODELS} models`);
  }
  const models = list.map((entry: unknown, place) => checkModel(entry, `[${place}]`));
  const names = new Set<string>();
  for (const [place, { name }] of models.entries()) {
    if (names.has(name)) {
      throw new BadModel(`[${place}].name: there are two models '${name}'`);
    }
    names.add(name);
  }
  return models;
}

function checkModel(entry: unknown, place: string): TextModel {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    throw new BadModel(`${place}: must be an object`);
  }
  const isFolder = 'path' in entry;
  const given = known(entry, isFolder ? FOLDER_KEYS : ENDPOINT_KEYS, place);
  const name = text(given['name'], `${place}.name`);
  if (BUILT_IN.has(name.toLowerCase())) {
    throw new BadModel(`${place}.name: ${name} is built in`);
  }
  const size = given['dimension'];
  return {
    name,
    ...(isFolder ? folder(given, place) : endpoint(given, place)),
    ...(size !== undefined && { dimension: dimension(size, `${place}.dimension`) }),
  };
}

/** What an entry has, by the keys of the model. A null counts as absent. */
function known(entry: object, keys: ReadonlyMap<string, string>, place: string): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(entry)) {
    const own = keys.get(key);
    if (own === undefined) {
      const names = [...keys.keys()].filter((name) => name !== 'keyFile');
      throw new BadModel(
        `${place}.${key}: unknown key, expected ${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}`,
      );
    }
    if (value !== null && value !== undefined) given[own] = value;
  }
  return given;
}

function endpoint(given: Record<string, unknown>, place: string): Omit<EndpointModel, 'name' | 'dimension'> {
  const keyFile = given['keyFile'];
  return {
    url: baseUrl(text(given['url'], `${place}.url`), `${place}.url`),
    model: text(given['model'], `${place}.model`),
    ...(keyFile !== undefined && { keyFile: text(keyFile, `${place}.key_file`, Infinity) }),
  };
}

function folder(given: Record<string, unknown>, place: string): Omit<FolderModel, 'name' | 'dimension'> {
  const { pooling, normalize } = given;
  if (pooling !== undefined && !POOLINGS.includes(pooling as Pooling)) {
    throw new BadModel(
      `${place}.pooling: must be ${POOLINGS.slice(0, -1).join(', ')} or ${POOLINGS.at(-1) ?? ''}`,
    );
  }
  if (normalize !== undefined && typeof normalize !== 'boolean') {
    throw new BadModel(`${place}.normalize: must be true or false`);
  }
  return {
    path: resolve(text(given['path'], `${place}.path`, Infinity)),
    ...(pooling !== undefined && { pooling: pooling as Pooling }),
    ...(normalize !== undefined && { normalize }),
  };
}

function text(value: unknown, place: string, most = MAX_NAME_CHARACTERS): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw new BadModel(`${place}: must be a text that is not empty`);
  }
  if (value.length > most) {
    throw new BadModel(`${place}: at most ${most} characters`);
  }
  return value;
}

function dimension(value: unknown, place: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_DIMENSION) {
    throw new BadModel(`${place}: must be a whole number from 1 to ${MAX_DIMENSION}`);
  }
  return value;
}

/** The URL without the slash at its end. A password in it would be in messages, and a query would not be at its end. */
function baseUrl(value: string, place: string): string {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw new BadModel(`${place}: must be a URL such as https://api.openai.com/v1`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new BadModel(`${place}: must begin with http:// or https://`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new BadModel(`${place}: must have no user and no password: give the key in key_file`);
  }
  if (url.search !== '' || url.hash !== '') {
    throw new BadModel(`${place}: must have no query and no fragment`);
  }
  return url.href.replace(/\/+$/, '');
}
