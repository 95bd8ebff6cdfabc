import { encodeJson, parseJson } from '../client/json';
import type { Config, VerbFlag } from '../config';
import { CommandError, EXIT, type Console, type ExitCode } from './console';
import { numberFlag, optionalFlag, requiredFlag } from './flags';
import { jsonFlag } from './json-flag';
import { URL_FLAG, withService } from './service';
import { cut, tableOf } from './table';
import type { GivenFlags } from './verbs';

const LIMIT = 10;
/** The most results that one request may ask for, whatever the server's settings are. */
const MAX_RESULTS = 100_000_000;
/** Columns of a vector in the table; `--json` has all of it. */
const VECTOR_COLUMNS = 40;

/** The flags of `kithdb query`. */
export const QUERY_FLAGS: readonly VerbFlag[] = [
  URL_FLAG,
  { name: 'collection', placeholder: 'NAME', about: 'The collection, which may also stand behind the verb.' },
  { name: 'id', placeholder: 'ID', about: 'Finds the points nearest to this one.' },
  {
    name: 'vector',
    placeholder: 'JSON',
    about:
      'Finds the points nearest to this vector, or to that in a file: a list of numbers, {"indices": [], "values": []} or a list of lists.',
  },
  {
    name: 'text',
    placeholder: 'TEXT',
    about: 'Finds the points nearest to this text, of which --model makes a vector.',
  },
  {
    name: 'model',
    placeholder: 'NAME',
    about: 'The model of --text: qdrant/bm25 for sparse vectors, or one of KITHDB_MODELS.',
  },
  { name: 'filter', placeholder: 'JSON', about: 'Only points that match this filter, or that in a file.' },
  {
    name: 'limit',
    placeholder: 'N',
    about: `How many points, ${LIMIT} otherwise.`,
  },
  { name: 'offset', placeholder: 'N', about: 'Leaves out the first N of them.' },
  { name: 'using', placeholder: 'FIELD', about: 'The named vector that is searched.' },
  {
    name: 'params',
    placeholder: 'JSON',
    about: 'Parameters of the search, such as {"hnsw_ef": 200} or {"exact": true}.',
  },
  {
    name: 'score-threshold',
    placeholder: 'X',
    about: 'Only points with a score that is as good as this one.',
  },
  {
    name: 'body',
    placeholder: 'JSON',
    about:
      'The whole request as the interface has it (POST …/points/query), or a file with it, in place of the flags from --id to --score-threshold.',
  },
  { name: 'with-vector', about: 'Shows the vectors too.' },
  { name: 'json', about: 'Prints the points as JSON.' },
];

const OF_BODY = [
  'id',
  'vector',
  'text',
  'model',
  'filter',
  'limit',
  'offset',
  'using',
  'params',
  'score-threshold',
];

interface Hit {
  readonly id: number | bigint | string;
  readonly score?: number;
  readonly payload?: unknown;
  readonly vector?: unknown;
}

/** `kithdb query`: the points that a query finds, as a table or as JSON. */
export async function query(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const collection = requiredFlag(flags, 'collection', 'NAME');
  const body = bodyOf(flags);
  const hits = await withService(config, flags, async (service) => {
    const { result } = await service.execute({ operation: 'query', collection, body });
    return (result as { readonly points: readonly Hit[] }).points;
  });
  if (flags.has('json')) {
    console.stdout.write(`${encodeJson(hits)}\n`);
    return EXIT.success;
  }
  if (hits.length === 0) {
    console.stdout.write('No points.\n');
    return EXIT.success;
  }
  const width = console.stdout.isTTY === true ? console.stdout.columns : undefined;
  console.stdout.write(tableOf(rowsOf(hits, isScored(body), flags.has('with-vector')), width));
  return EXIT.success;
}

/** A query without anything to compare with lists points, and their scores mean nothing. */
function isScored(body: Readonly<Record<string, unknown>>): boolean {
  return body['query'] !== undefined || body['prefetch'] !== undefined;
}

function rowsOf(hits: readonly Hit[], scored: boolean, withVector: boolean): readonly (readonly string[])[] {
  const head = ['ID', ...(scored ? ['SCORE'] : []), ...(withVector ? ['VECTOR'] : []), 'PAYLOAD'];
  const rows = hits.map(({ id, score, payload, vector }) => [
    String(id),
    ...(scored ? [score === undefined ? '' : scoreText(score)] : []),
    ...(withVector ? [cut(encodeJson(vector ?? null), VECTOR_COLUMNS)] : []),
    encodeJson(payload ?? {}),
  ]);
  return [head, ...rows];
}

/** Six digits are what 32-bit floats hold. */
function scoreText(score: number): string {
  return String(Number(score.toPrecision(6)));
}

function bodyOf(flags: GivenFlags): Readonly<Record<string, unknown>> {
  const shown = { with_payload: true, ...(flags.has('with-vector') && { with_vector: true }) };
  const whole = jsonFlag(flags, 'body');
  if (whole === undefined) {
    return { ...flagsOf(flags), ...shown };
  }
  const both = OF_BODY.find((name) => flags.has(name));
  if (both !== undefined) {
    throw new CommandError(`--body has the whole request: --${both} belongs into it`, EXIT.usage);
  }
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) {
    throw new CommandError('--body must be a JSON object', EXIT.usage);
  }
  return { ...shown, ...whole };
}

function flagsOf(flags: GivenFlags): Readonly<Record<string, unknown>> {
  const [id, vector, text] = [
    optionalFlag(flags, 'id'),
    jsonFlag(flags, 'vector'),
    optionalFlag(flags, 'text'),
  ];
  if ([id, vector, text].filter((given) => given !== undefined).length > 1) {
    throw new CommandError(
      '--id, --vector and --text exclude each other: give what the points are compared with',
      EXIT.usage,
    );
  }
  const model = optionalFlag(flags, 'model');
  if ((text === undefined) !== (model === undefined)) {
    throw new CommandError(
      '--text and --model belong together: the model makes a vector of the text',
      EXIT.usage,
    );
  }
  const using = optionalFlag(flags, 'using');
  const [filter, params] = [jsonFlag(flags, 'filter'), jsonFlag(flags, 'params')];
  const threshold = thresholdOf(optionalFlag(flags, 'score-threshold'));
  return {
    ...(id !== undefined && { query: pointId(id) }),
    ...(vector !== undefined && { query: vector }),
    ...(text !== undefined && { query: { text, model } }),
    ...(filter !== undefined && { filter }),
    limit: numberFlag(flags, 'limit', { lowest: 1, highest: MAX_RESULTS, fallback: LIMIT }),
    offset: numberFlag(flags, 'offset', { lowest: 0, highest: MAX_RESULTS, fallback: 0 }),
    ...(using !== undefined && { using }),
    ...(params !== undefined && { params }),
    ...(threshold !== undefined && { score_threshold: threshold }),
  };
}

/** Decimal digits are an integer; a string may be in JSON quotes, and one of digits has to be (C21). */
function pointId(text: string): unknown {
  if (/^(?:0|[1-9]\d*)$/.test(text)) return parseJson(text);
  if (!text.startsWith('"')) return text;
  try {
    return parseJson(text);
  } catch {
    throw new CommandError('--id begins with a quote and is no string of JSON', EXIT.usage);
  }
}

function thresholdOf(text: string | undefined): number | undefined {
  const number = text === undefined || text.trim() === '' ? NaN : Number(text);
  if (text !== undefined && !Number.isFinite(number)) {
    throw new CommandError(`--score-threshold must be a number, not ${text}`, EXIT.usage);
  }
  return text === undefined ? undefined : number;
}
