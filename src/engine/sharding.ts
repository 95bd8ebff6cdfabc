import { loadBinding } from './load';
import type {
  NativeAsk,
  NativeLayout,
  NativeShardedRead,
  NativeShardedRequest,
  NativeSplit,
  NativeStep,
} from './binding';
import { failureOf, formNumber, placeOf, type BodyForm } from './native-call';
import { EngineError, type EngineOptions } from './types';

/** Bytes from which on work is done on a thread of its own: splitting or merging fewer takes less than a millisecond. */
const LARGE_BYTES = 128 * 1024;

/** Parts of the keys of models, of other collections and of cursors; a backslash may be an escape in one of them. */
const READ_FIRST = ['model', 'lookup', 'cursor', '\\'].map((part) => Buffer.from(part));

const NO_BODY = Buffer.alloc(0);
const NO_SHARD = 'there is no answer of a shard of the collection';

/** How vectors are compared, in the words of a collection's configuration. */
export type ShardMetric = 'Cosine' | 'Euclid' | 'Dot' | 'Manhattan';

/** What splitting and merging need to know of a collection. */
export interface ShardLayout {
  /** How many shards it has, at least 1; fixed with the collection. */
  readonly shards: number;
  /** Whether its ids are integers and strings (C21). */
  readonly stringIds: boolean;
  /** The metrics of its dense and multi-vectors by name, `""` for the unnamed one. Sparse vectors are not here. */
  readonly metrics: Readonly<Record<string, ShardMetric>>;
  /** Those of them that are of bytes (`uint8`). */
  readonly byteVectors: readonly string[];
  /** Whether a sparse vector may have the modifier `idf`. */
  readonly mayWeigh: boolean;
}

/** A request as its client sent it. */
export interface ShardedRequest {
  /** The name of the operation, as {@link EngineRequest} has it. */
  readonly operation: string;
  /** The name of the collection, or an alias of it. */
  readonly collection: string;
  /** Its other names, by which the body may name it in `lookup_from` and `with_lookup`. */
  readonly otherNames?: readonly string[];
  /** Point id or field name from the path. */
  readonly target?: string;
  /** The body; absent where there was none. */
  readonly body?: Buffer;
  /** The form of the body; JSON when absent. */
  readonly form?: BodyForm;
  /** Whether what is harmless in the body is passed over (C12). */
  readonly isLenient?: boolean;
  /** Whether it may fail with `vectors_wanted`, to be called again with the vectors in the body (C16). */
  readonly givesOutTexts?: boolean;
  /** The limits of the server that differ from their defaults. */
  readonly limits?: EngineOptions['limits'];
  /** When it arrived, by `performance.now()`: the `time` of the answer counts from here. */
  readonly arrivedAt?: number;
}

/** A question to one shard: a request that a replica of it is to answer. */
export interface ShardAsk {
  readonly shard: number;
  /** The collection whose shard it is. */
  readonly collection: string;
  readonly operation: string;
  /** Point id from the path. */
  readonly target?: string;
  /** The body, as JSON. */
  readonly body: Buffer;
  /** How the shard takes it, whatever the request says. */
  readonly isLenient: boolean;
}

/** What comes next of a read: questions to shards, or the whole success envelope. */
export type ShardedStep =
  | { readonly asks: readonly ShardAsk[]; readonly envelope?: undefined }
  | { readonly asks?: undefined; readonly envelope: Buffer };

/**
 * The body of a write for each shard, undefined where a shard has no part in it. A body that names no point is whole for the
 * first shard; with one shard a body passes as it is, once it was read.
 * @throws EngineError for a body that one engine would refuse before it looks at the collection, `vectors_wanted` included,
 * `needs_json` where its vectors are packed, and `bad_request` for what is not available for several shards.
 */
export async function splitWrite(
  request: ShardedRequest,
  layout: ShardLayout,
): Promise<readonly (Buffer | undefined)[]> {
  const binding = loadBinding();
  const [sent, native] = [nativeRequest(request), nativeLayout(layout)];
  const isLarge = sent.body.length >= LARGE_BYTES;
  const split: NativeSplit = isLarge
    ? await binding.splitShardedWriteApart(sent, native)
    : binding.splitShardedWrite(sent, native);
  if (split.bodies === undefined) throw failureOf(split);
  return split.bodies.map((body) => body ?? undefined);
}

/**
 * The success envelope of a write, of those that shards have answered to their parts of it: at least one, all of the same
 * operation number.
 * @throws EngineError `internal` for answers that are not those of one write.
 */
export function joinWrite(request: ShardedRequest, layout: ShardLayout, answers: readonly Buffer[]): Buffer {
  const [first] = answers;
  // What was skipped is all that shards say differently.
  const isSame = answers.length === 1 || answers.every((answer) => !answer.includes('"skipped"'));
  if (isSame && first !== undefined) return first;
  const joined = loadBinding().joinShardedWrite(nativeRequest(request), nativeLayout(layout), [...answers]);
  if (joined.envelope === undefined) throw failureOf(joined);
  return joined.envelope;
}

/**
 * A read of a collection of several shards. It does no input or output: {@link begin} and {@link advance} answer questions to
 * shards, whose answers {@link advance} takes, until one of them answers the envelope.
 */
export class ShardedRead {
  private constructor(
    /** Undefined where the answer of the one shard is the answer. */
    private readonly native: NativeShardedRead | undefined,
    private readonly collection: string,
  ) {}

  /**
   * Begins a read. `others` has the layouts of the other collections that the request may name, in `lookup_from` and
   * `with_lookup`; one that is not there does not exist. With one shard the request is read, and asked as it is unless it names
   * collections; its answer is the answer.
   * @throws EngineError as {@link splitWrite}; `collection_not_found` for another collection.
   */
  static async begin(
    request: ShardedRequest,
    layout: ShardLayout,
    others: Readonly<Record<string, ShardLayout>> = {},
  ): Promise<{ readonly read: ShardedRead; readonly step: ShardedStep }> {
    const only = onlyAsk(request, layout);
    if (only !== undefined) {
      return { read: new ShardedRead(undefined, request.collection), step: { asks: [only] } };
    }
    const native = new (loadBinding().NativeShardedRead)();
    const read = new ShardedRead(native, request.collection);
    const named = Object.entries(others).map(([name, other]) => [name, nativeLayout(other)] as const);
    const sent = nativeRequest(request);
    const layouts = [nativeLayout(layout), Object.fromEntries(named)] as const;
    const step =
      sent.body.length >= LARGE_BYTES
        ? await native.beginApart(sent, ...layouts)
        : native.begin(sent, ...layouts);
    return { read, step: read.stepOf(step) };
  }

  /**
   * Goes on with the answers to the last questions, in their order: the success envelope of the shard, or undefined for a shard
   * that is to be left out. Then the result is that of the others. A shard that answers with an error ends the read: that error
   * is the answer, and this object is dropped.
   * @throws EngineError of the operation; the read is over then.
   */
  async advance(answers: readonly (Buffer | undefined)[]): Promise<ShardedStep> {
    const { native } = this;
    if (native === undefined) {
      const [envelope] = answers;
      if (envelope === undefined) throw new EngineError('shard_unavailable', { message: NO_SHARD });
      return { envelope };
    }
    const bytes = answers.reduce((sum, answer) => sum + (answer?.length ?? 0), 0);
    const given = answers.map((answer) => answer ?? null);
    const step = bytes >= LARGE_BYTES ? await native.advanceApart(given) : native.advance(given);
    return this.stepOf(step);
  }

  private stepOf(step: NativeStep): ShardedStep {
    if (step.envelope !== undefined) return { envelope: step.envelope };
    const { asks, bodies = [] } = step;
    if (asks === undefined) throw failureOf(step);
    return { asks: asks.map((ask) => this.askOf(ask, bodies)) };
  }

  private askOf(asked: NativeAsk, bodies: readonly Buffer[]): ShardAsk {
    const { shard, operation, target, isLenient } = asked;
    const body = bodies[asked.body] ?? NO_BODY;
    const ask = { shard, collection: asked.collection ?? this.collection, operation, body, isLenient };
    return target === undefined ? ask : { ...ask, target };
  }
}

/**
 * The question to the one shard of a collection, where it is the request as it was sent: a body that may have texts of models,
 * may name collections, whose shards have other names, or may open a cursor, is read first.
 */
function onlyAsk(request: ShardedRequest, { shards }: ShardLayout): ShardAsk | undefined {
  const { operation, collection, target, body = NO_BODY, form = 'json', isLenient = false } = request;
  const isText = form === 'json' || form === 'lines';
  if (shards !== 1 || (isText && READ_FIRST.some((part) => body.includes(part)))) return undefined;
  return { shard: 0, collection, operation, ...(target !== undefined && { target }), body, isLenient };
}

function nativeRequest(request: ShardedRequest): NativeShardedRequest {
  const { operation, collection, target, body, form, isLenient, givesOutTexts, limits, arrivedAt } = request;
  return {
    operation: placeOf(operation),
    collection,
    otherNames: [...(request.otherNames ?? [])],
    ...(target === undefined ? {} : { target }),
    body: body ?? Buffer.alloc(0),
    form: formNumber(form ?? 'json'),
    isLenient: isLenient ?? false,
    givesOutTexts: givesOutTexts ?? false,
    ...(limits === undefined ? {} : { limits }),
    elapsedMs: arrivedAt === undefined ? 0 : performance.now() - arrivedAt,
  };
}

function nativeLayout({ shards, stringIds, metrics, byteVectors, mayWeigh }: ShardLayout): NativeLayout {
  return { shards, stringIds, metrics: { ...metrics }, byteVectors: [...byteVectors], mayWeigh };
}
