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

/** What one entry of the list may have, and the key of {@link EndpointModel} for each. */
const KEYS: ReadonlyMap<string, keyof EndpointModel> = new Map<string, keyof EndpointModel>([
  ['name', 'name'],
  ['url', 'url'],
  ['model', 'model'],
  ['key_file', 'keyFile'],
  ['keyFile', 'keyFile'],
  ['dimension', 'dimension'],
]);

/** Models in one list. */
const MOST_MODELS = 256;
const MOST_NAME_CHARACTERS = 256;
const MOST_DIMENSION = 65_536;
/** Models that the engine has, in lower case. */
const BUILT_IN: ReadonlySet<string> = new Set(['qdrant/bm25']);

/**
 * Checks a list of models.
 * @throws BadModel that names the entry and what is wrong.
 */
export function checkModels(list: unknown): readonly EndpointModel[] {
  if (!Array.isArray(list)) {
    throw new BadModel('must be a list of {name, url, model, key_file?, dimension?}');
  }
  if (list.length > MOST_MODELS) {
    throw new BadModel(`at most ${MOST_MODELS} models`);
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

function checkModel(entry: unknown, place: string): EndpointModel {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    throw new BadModel(`${place}: must be an object`);
  }
  if ('path' in entry) {
    throw new BadModel(
      `${place}.path: a model in a folder cannot be run by this release: give the url of an endpoint that runs it`,
    );
  }
  const given: { -readonly [K in keyof EndpointModel]?: unknown } = {};
  for (const [key, value] of Object.entries(entry)) {
    const known = KEYS.get(key);
    if (known === undefined) {
      throw new BadModel(`${place}.${key}: unknown key, expected name, url, model, key_file or dimension`);
    }
    if (value !== null && value !== undefined) given[known] = value;
  }
  const name = text(given.name, `${place}.name`);
  if (BUILT_IN.has(name.toLowerCase())) {
    throw new BadModel(`${place}.name: ${name} is built in`);
  }
  return {
    name,
    url: baseUrl(text(given.url, `${place}.url`), `${place}.url`),
    model: text(given.model, `${place}.model`),
    ...(given.keyFile !== undefined && { keyFile: text(given.keyFile, `${place}.key_file`, Infinity) }),
    ...(given.dimension !== undefined && { dimension: dimension(given.dimension, `${place}.dimension`) }),
  };
}

function text(value: unknown, place: string, most = MOST_NAME_CHARACTERS): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw new BadModel(`${place}: must be a text that is not empty`);
  }
  if (value.length > most) {
    throw new BadModel(`${place}: at most ${most} characters`);
  }
  return value;
}

function dimension(value: unknown, place: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MOST_DIMENSION) {
    throw new BadModel(`${place}: must be a whole number from 1 to ${MOST_DIMENSION}`);
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
