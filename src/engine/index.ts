import { loadBinding } from './load';
import { failureOf, formsOf, placeOf } from './native-call';
import { NumberedBody } from './numbered-body';
import { NumberedValues } from './numbered-values';
import { strictScopeText } from './strict-scope';
import { namingModel, vectorsOf } from './text-vectors';
import type { Completion, NativeEngine, OpenOptions } from './binding';
import { collectionFigures } from './collection-figures';
import {
  bytesOf,
  EngineError,
  type Answer,
  type BackgroundPanics,
  type Engine,
  type EngineOptions,
  type EngineRequest,
  type EngineStatus,
  type IncomingBody,
  type ScrubReport,
  type SearchProfile,
  type HealthIssue,
  type TextInput,
  type TextModels,
} from './types';

export * from './types';

/** Interval of the timer that keeps the event loop alive while the engine opens or closes. */
const KEEP_ALIVE_MS = 1000;
/** Call numbers wrap here; far fewer calls are ever under way at once. */
const CALL_NUMBERS = 2 ** 32;
/** How often a request may ask for vectors of texts; a sync asks again where its points were changed meanwhile (C20). */
const MAX_ROUNDS = 3;
/**
 * Reads run on the calling thread only where requests are slow from so many milliseconds on: a read that runs there has no
 * profile, and takes half a millisecond at most.
 */
const LEAST_SLOW_HERE_MS = 2;
/** Buffer for short answers: for each its call number, its length and its bytes. */
const FRAME_BYTES = 128 * 1024;

/** The scrub report while the engine is not open. */
const NO_SCRUB: ScrubReport = {
  passes: 0,
  bytes: 0,
  dataFailures: 0,
  graphFailures: 0,
  manifestFailures: 0,
  catalogFailures: 0,
  logFailures: 0,
  findings: [],
};

const NO_PANICS: BackgroundPanics = { counts: [], events: [] };

/** How old the report may be that {@link Engine.refresh} is content with. */
const REPORT_AGE_MS = 1000;
/** The time of a close that may take as long as it takes. */
const DAY_MS = 86_400_000;

/** The last report of the engine, as far as it was asked for. */
interface Snapshot {
  readonly number: number;
  status?: Omit<EngineStatus, 'state'>;
  issues?: readonly HealthIssue[];
  panics?: BackgroundPanics;
}

/** A request, the number of its call, and that of its operation. */
interface NumberedRequest {
  readonly id: number;
  readonly place: number;
  readonly request: EngineRequest;
}

/** Texts of a request whose vectors are to be put into its body. */
interface WantedTexts {
  readonly call: NumberedRequest;
  readonly inputs: readonly TextInput[];
  /** Aborted when nobody waits for the answer any more. */
  readonly over: AbortController;
}

interface Call {
  resolve(envelope: Answer): void;
  reject(error: Error): void;
  readonly profiled?: EngineRequest['profiled'];
}

/** An engine over `options.dataDir`. Nothing is opened yet, and the native binding is not loaded. */
export function openNativeEngine(options: EngineOptions): Engine {
  return new Facade(options);
}

/**
 * The engine that another event loop of this process has opened and shared: its requests are executed, given up and answered
 * on this one. It cannot be opened, and closing it closes nothing.
 */
export function joinNativeEngine(number: number, options: EngineOptions): Engine {
  return Facade.joined(number, options);
}

/** What the binding opens an engine with; it takes no options that are undefined. */
function nativeOptions(options: EngineOptions): OpenOptions {
  const { dataDir, searchThreads, memory, limits, scrub, sharing, allowedFileSystems } = options;
  const { calibrationShare, reportedCollections, slowRequestMs, residency, isReplica } = options;
  return {
    dataDir,
    ...(searchThreads === undefined ? {} : { searchThreads }),
    ...(memory === undefined ? {} : { memory }),
    ...(limits === undefined ? {} : { limits }),
    ...(calibrationShare === undefined ? {} : { calibrationShare }),
    ...(reportedCollections === undefined ? {} : { reportedCollections }),
    ...(slowRequestMs === undefined ? {} : { slowRequestMs }),
    ...(residency === undefined ? {} : { residency }),
    ...(scrub === undefined ? {} : { scrub }),
    ...(sharing === undefined ? {} : { sharing }),
    ...(isReplica === undefined ? {} : { isReplica }),
    ...(allowedFileSystems === undefined ? {} : { allowedFileSystems: [...allowedFileSystems] }),
  };
}

/** The engine behind the native binding: numbers the calls and hands their answers back. */
class Facade implements Engine {
  private native: NativeEngine | undefined;
  private state: EngineStatus['state'] = 'closed';
  private closing: Promise<void> | undefined;
  private readonly calls = new NumberedValues<Call>();
  /** Requests whose texts are given out, by the numbers of their calls. */
  private readonly waiting = new NumberedValues<AbortController>();
  private lastCall = 0;
  private snapshot: Snapshot = { number: 0 };
  private readonly frame = Buffer.allocUnsafeSlow(FRAME_BYTES);

  constructor(private readonly options: EngineOptions) {}

  static joined(number: number, options: EngineOptions): Facade {
    const facade = new Facade(options);
    facade.load((binding, completed) => binding.NativeEngine.join(number, completed));
    facade.state = 'ready';
    return facade;
  }

  /** Loads the binding and makes its engine. */
  private load(
    make: (binding: ReturnType<typeof loadBinding>, completed: (batch: Completion[]) => void) => NativeEngine,
  ): NativeEngine {
    const binding = loadBinding();
    const native = make(binding, (batch) => {
      for (const completion of batch) this.complete(completion);
      this.takeShortAnswers(native);
    });
    this.native = native;
    return native;
  }

  async open(): Promise<string | undefined> {
    if (this.state !== 'closed') throw new Error('The engine was opened already.');
    this.state = 'opening';
    try {
      const native = this.load((binding, completed) => new binding.NativeEngine(completed));
      const warning = await this.awake((id) => {
        native.open(id, nativeOptions(this.options));
      });
      this.state = 'ready';
      return warning.length === 0 ? undefined : bytesOf(warning).toString();
    } catch (error) {
      this.state = 'closed';
      throw error;
    }
  }

  share(): number {
    if (this.native === undefined) throw new Error('The engine is not open.');
    return this.native.share();
  }

  role(): string | undefined {
    return this.native?.role() ?? undefined;
  }

  receive(): IncomingBody {
    if (this.native === undefined) throw new Error('The engine is not open.');
    return new NumberedBody(this.native, this.nextCall());
  }

  execute(request: EngineRequest): Promise<Answer> {
    const native = this.native;
    if (native === undefined || this.state !== 'ready') {
      request.body?.discard();
      return Promise.reject(new EngineError(this.state === 'closing' ? 'shutting_down' : 'not_ready'));
    }
    const { operation, body, whenAbandoned } = request;
    const place = placeOf(operation);
    const id = body instanceof NumberedBody ? body.call : this.nextCall();
    const { models } = this.options;
    if (models !== undefined && body !== undefined) {
      return this.executeTexts(native, models, { id, place, request });
    }
    const answer = this.send(native, { id, place, request });
    if (this.calls.has(id)) {
      whenAbandoned?.(() => {
        if (this.calls.has(id)) native.cancel(id);
      });
    }
    return answer;
  }

  private send(native: NativeEngine, { id, place, request }: NumberedRequest): Promise<Answer> {
    const {
      collection,
      wait,
      arrivedAt,
      timeoutSeconds,
      target,
      answerBytes,
      operationId,
      isLenient,
      limits,
      caller,
    } = request;
    const execute = (): void => {
      const envelope = native.execute(
        id,
        place,
        collection ?? '',
        wait ?? true,
        arrivedAt === undefined ? 0 : performance.now() - arrivedAt,
        timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000,
        target,
        answerBytes,
        operationId,
        isLenient,
        this.options.models !== undefined || this.options.isReplica === true,
        formsOf(request),
        limits,
        caller,
        request.mayRunHere === true && (this.options.slowRequestMs ?? Infinity) >= LEAST_SLOW_HERE_MS,
        request.position,
        request.dryRun,
        request.strictScope && strictScopeText(request.strictScope),
      );
      if (envelope !== null) this.complete({ id, envelope });
    };
    return this.call(id, execute, request.profiled);
  }

  /**
   * Executes a request; where it has texts of models, once more when their vectors are in its body (C16). A sync asks for those
   * of further texts where their points were changed meanwhile (C20).
   */
  private async executeTexts(
    native: NativeEngine,
    models: TextModels,
    call: NumberedRequest,
  ): Promise<Answer> {
    const { id, request } = call;
    const over = new AbortController();
    request.whenAbandoned?.(() => {
      over.abort(new EngineError('cancelled'));
      if (this.calls.has(id)) native.cancel(id);
    });
    let inputs: readonly TextInput[] = [];
    for (let round = 0; ; round += 1) {
      try {
        return await this.send(native, call);
      } catch (error) {
        if (!(error instanceof EngineError) || error.code !== 'vectors_wanted')
          throw inputs.length === 0 ? error : namingModel(error, inputs);
        if (round === MAX_ROUNDS) {
          native.discard(id);
          const message = 'points: they change faster than the vectors of their texts are made';
          throw new EngineError('sync_conflict', { message });
        }
        inputs = error.details.inputs ?? [];
      }
      await this.supplyTexts(native, models, { call, inputs, over });
    }
  }

  /** Puts the vectors of texts into the body of a request. */
  private async supplyTexts(
    native: NativeEngine,
    models: TextModels,
    { call: { id, request }, inputs, over }: WantedTexts,
  ): Promise<void> {
    this.waiting.add(id, over);
    try {
      const read = (answer: Buffer, texts: number): Promise<Buffer> =>
        this.make((done) => {
          native.readVectors(done, answer, texts);
        });
      const vectors = await vectorsOf(inputs, { models, request, read, over: over.signal });
      await this.make((done) => {
        native.supply(done, id, vectors);
      });
      over.signal.throwIfAborted();
    } catch (error) {
      // Nothing was done, and nobody comes back for the body.
      native.discard(id);
      throw error;
    } finally {
      this.waiting.take(id);
    }
  }

  /** Bytes that the native engine makes, apart from requests. */
  private async make(start: (done: number) => void): Promise<Buffer> {
    const done = this.nextCall();
    const made = await this.call(done, () => {
      start(done);
    });
    return bytesOf(made);
  }

  status(): EngineStatus {
    const { state, native } = this;
    if (state !== 'ready' || native === undefined) {
      return { state, collections: 0, points: 0, quarantined: 0, faults: [], logDamages: [] };
    }
    const snapshot = this.currentSnapshot(native);
    if (snapshot.status === undefined) {
      const { collections, points, quarantined, faults, logDamages, ...internals } = native.status();
      const served = { collections, points, quarantined, faults, logDamages };
      const figures = this.options.reportedCollections ? collectionFigures(native.collectionFigures()) : [];
      snapshot.status = { ...served, internals: { ...internals, collections: figures } };
    }
    return { state, ...snapshot.status };
  }

  async refresh(maxAgeMs: number = REPORT_AGE_MS): Promise<void> {
    const { native } = this;
    if (native === undefined || this.state !== 'ready') return;
    const id = this.nextCall();
    await this.call(id, () => {
      native.refresh(id, maxAgeMs);
    });
  }

  scrub(): ScrubReport {
    return (this.state === 'ready' ? this.native?.scrub() : undefined) ?? NO_SCRUB;
  }

  healthIssues(): readonly HealthIssue[] {
    const { native } = this;
    if (this.state !== 'ready' || native === undefined) return [];
    const snapshot = this.currentSnapshot(native);
    // The binding names kinds of this list only.
    return (snapshot.issues ??= native.healthIssues() as HealthIssue[]);
  }

  panics(): BackgroundPanics {
    const { native } = this;
    if (this.state !== 'ready' || native === undefined) return NO_PANICS;
    const snapshot = this.currentSnapshot(native);
    return (snapshot.panics ??= native.panics());
  }

  /** Parts of a report cross the boundary once, however often they are asked for. */
  private currentSnapshot(native: NativeEngine): Snapshot {
    const number = native.reportNumber();
    if (this.snapshot.number !== number) this.snapshot = { number };
    return this.snapshot;
  }

  authGeneration(): number {
    const generation = this.native?.authGeneration();
    if (typeof generation !== 'number') throw new EngineError('not_ready');
    return generation;
  }

  noteAuthGeneration(generation: number): Promise<void> {
    return this.order((native, id) => {
      native.noteAuthGeneration(id, generation);
    });
  }

  stage(): Promise<void> {
    return this.order((native, id) => {
      native.stage(id);
    });
  }

  unstage(): Promise<void> {
    return this.order((native, id) => {
      native.unstage(id);
    });
  }

  private async order(start: (native: NativeEngine, id: number) => void): Promise<void> {
    const native = this.native;
    if (native === undefined || this.state !== 'ready') {
      throw new EngineError(this.state === 'closing' ? 'shutting_down' : 'not_ready');
    }
    await this.awake((id) => {
      start(native, id);
    });
  }

  giveUpRequests(): void {
    this.giveUpTexts();
    this.native?.giveUpRequests();
  }

  close(timeMs: number = DAY_MS): Promise<void> {
    this.closing ??= this.shutDown(timeMs);
    return this.closing;
  }

  private async shutDown(timeMs: number): Promise<void> {
    const native = this.native;
    if (native === undefined) return;
    this.state = 'closing';
    this.giveUpTexts();
    await this.awake((id) => {
      native.close(id, timeMs);
    });
    this.state = 'closed';
  }

  /** Requests that wait for vectors are not under way in the engine. */
  private giveUpTexts(): void {
    for (const over of this.waiting.takeAll()) over.abort(new EngineError('shutting_down'));
  }

  private nextCall(): number {
    do this.lastCall = (this.lastCall + 1) % CALL_NUMBERS;
    while (this.calls.has(this.lastCall) || this.waiting.has(this.lastCall));
    return this.lastCall;
  }

  private call(id: number, start: () => void, profiled?: EngineRequest['profiled']): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.calls.add(id, { resolve, reject, profiled });
      try {
        start();
      } catch (error) {
        this.calls.take(id);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** A call that keeps the event loop alive, so that the process does not end while it runs. */
  private async awake(start: (id: number) => void): Promise<Answer> {
    const timer = setInterval(() => undefined, KEEP_ALIVE_MS);
    const id = this.nextCall();
    try {
      return await this.call(id, () => {
        start(id);
      });
    } finally {
      clearInterval(timer);
    }
  }

  private takeShortAnswers(native: NativeEngine): void {
    const { frame, calls } = this;
    let end: number;
    while ((end = native.take(frame)) > 0) {
      for (let at = 0; at < end;) {
        const id = frame.readUInt32LE(at);
        const from = at + 8;
        at = from + frame.readUInt32LE(at + 4);
        calls.take(id)?.resolve(frame.toString('latin1', from, at));
      }
    }
  }

  private complete({ id, envelope, code, details, profile }: Completion): void {
    const call = this.calls.take(id);
    if (call === undefined) return;
    if (profile !== undefined) call.profiled?.(JSON.parse(profile) as SearchProfile);
    if (envelope !== undefined) {
      call.resolve(envelope);
      return;
    }
    const failure = failureOf({ code, details });
    if (code === 'open_failed') {
      const why = failure.details.message ?? 'unknown';
      call.reject(new Error(`Cannot open the data directory ${this.options.dataDir}: ${why}`));
      return;
    }
    call.reject(this.options.isReplica === true ? this.withoutTexts(id, failure) : failure);
  }

  /** The error of a request to a replica: the vectors of texts are in the body, or the request is wrong. */
  private withoutTexts(id: number, failure: EngineError): EngineError {
    if (failure.code !== 'vectors_wanted') return failure;
    this.native?.discard(id);
    const place = failure.details.inputs?.[0]?.place ?? 'body';
    return new EngineError('bad_request', { message: `${place}: a replica takes texts with their vectors` });
  }
}
