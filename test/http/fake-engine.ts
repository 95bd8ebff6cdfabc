import {
  EngineError,
  type BackgroundPanics,
  type ClusterControl,
  type CollectionFigures,
  type Engine,
  type EngineErrorCode,
  type EngineErrorDetails,
  type EngineInternals,
  type EngineRequest,
  type EngineStatus,
  type IncomingBody,
  type ScrubReport,
  type SearchProfile,
  type HealthIssue,
} from '../../src/engine/types';

/** Each figure its own, so that a test sees where it went. */
const INTERNALS: EngineInternals = {
  memory: {
    originals: 101,
    originalsMapped: 102,
    codes: 103,
    links: 104,
    points: 105,
    payloads: 106,
    fieldIndexes: 107,
  },
  memoryUse: { limit: 401, process: 402, engineLimit: 403, engine: 404, charged: 405 },
  disk: { log: 501, data: 502 },
  indexBacklog: { dense: 503, sparse: 504, field: 505 },
  logSyncs: { bounds: [0.001, 30], counts: [601, 2, 3], seconds: 604.5 },
  checkpoints: { bounds: [0.001, 30], counts: [0, 7, 0], seconds: 6.5 },
  asleep: 215,
  wakes: { bounds: [0.001, 30], counts: [1, 0, 2], seconds: 7.5 },
  collections: [],
  expiredPoints: 207,
  autoIndexes: 210,
  cursors: 208,
  cursorBytes: 209,
  recall: { recall: 0.98, low: 0.97, high: 0.99 },
  searches: {
    exactScans: 201,
    scans: 202,
    wideWalks: 203,
    twoHopWalks: 204,
    fallbacks: 205,
    hops: 206,
    distances: 207,
    scanned: 208,
    reranked: 209,
    compared: 214,
  },
  reads: { waiting: 211, light: 212, heavy: 213 },
  kernels: { rows: 'avx2', codes: 'avx_vnni' },
};

/** A request as the engine saw it. */
type SeenRequest = Omit<EngineRequest, 'body' | 'whenAbandoned' | 'profiled'> & { readonly body?: Buffer };

/** A body whose bytes a test can read. As in the real engine, the memory of its parts is detached. */
export class FakeBody implements IncomingBody {
  bytes = Buffer.alloc(0);
  capacity = 0;
  discarded = false;

  append(piece: Buffer, capacity: number): void {
    this.bytes = Buffer.concat([this.bytes, piece]);
    this.capacity = capacity;
    piece.fill(0);
  }

  discard(): void {
    this.discarded = true;
  }
}

const NO_REEMBEDDINGS = Buffer.from(JSON.stringify({ time: 0.001, status: 'ok', result: [] }));

/** An engine that answers with what it was asked, so that a test sees what crosses the boundary. */
export class FakeEngine implements Engine {
  readonly requests: SeenRequest[] = [];
  readonly bodies: FakeBody[] = [];
  /** Requests that nobody waited for any more when they were not answered yet. */
  abandoned = 0;
  /** Each request fails with this, when set. */
  failure: Error | undefined;
  /** Requests wait for this, when set. */
  gate: Promise<void> | undefined;
  /** Each request is answered with this, when set. */
  answer: Buffer | undefined;
  /** What each request did, when set. */
  profile: SearchProfile | undefined;
  opening: Promise<void> = Promise.resolve();
  closed = false;
  /** The time that the last close was given. */
  closeTimeMs: number | undefined;
  gaveUp = false;
  /** Called when the engine is to give up its requests. */
  onGiveUp: () => void = () => undefined;
  /** How often a fresh report was asked for. */
  refreshes = 0;
  issues: readonly HealthIssue[] = [];
  /** Collections with figures of their own. */
  collections: readonly CollectionFigures[] = [];
  /** What the operator of a cluster may do; it is alone where there is none. */
  cluster: ClusterControl | undefined;

  async open(): Promise<undefined> {
    await this.opening;
  }

  receive(): FakeBody {
    const body = new FakeBody();
    this.bodies.push(body);
    return body;
  }

  async execute({ body: incoming, whenAbandoned, profiled, ...rest }: EngineRequest): Promise<Buffer> {
    // The server asks for these itself, once a second.
    if (rest.operation === 'list_reembeddings') return NO_REEMBEDDINGS;
    let answered = false;
    whenAbandoned?.(() => {
      if (!answered) this.abandoned++;
    });
    const body = incoming instanceof FakeBody ? incoming.bytes : undefined;
    if (this.profile !== undefined) profiled?.(this.profile);
    this.requests.push({ ...rest, ...(body !== undefined && { body }) });
    await this.gate;
    answered = true;
    if (this.failure !== undefined) {
      throw this.failure;
    }
    if (this.answer !== undefined) {
      return this.answer;
    }
    const result = { ...rest, arrivedAt: undefined, mayRunHere: undefined, bodyLength: body?.length ?? null };
    return Buffer.from(JSON.stringify({ time: 0.001, status: 'ok', result }));
  }

  status(): EngineStatus {
    return {
      state: 'ready',
      collections: 3,
      points: 42,
      quarantined: 0,
      faults: [],
      logDamages: [],
      internals: { ...INTERNALS, collections: this.collections },
    };
  }

  refresh(): Promise<void> {
    this.refreshes += 1;
    return Promise.resolve();
  }

  panics(): BackgroundPanics {
    return { counts: [{ task: 'vacuum', count: 401, restarts: 402 }], events: [] };
  }

  scrub(): ScrubReport {
    return {
      passes: 1,
      finishedAt: 301,
      bytes: 302,
      dataFailures: 303,
      graphFailures: 304,
      manifestFailures: 305,
      catalogFailures: 306,
      logFailures: 307,
      findings: [],
    };
  }

  healthIssues(): readonly HealthIssue[] {
    return this.issues;
  }

  authGeneration(): number {
    return 0;
  }

  noteAuthGeneration(): Promise<void> {
    return Promise.resolve();
  }

  stage(): Promise<void> {
    return Promise.resolve();
  }

  unstage(): Promise<void> {
    return Promise.resolve();
  }

  giveUpRequests(): void {
    this.gaveUp = true;
    this.onGiveUp();
  }

  close(timeMs?: number): Promise<void> {
    this.closeTimeMs = timeMs;
    this.closed = true;
    return Promise.resolve();
  }

  failWith(code: EngineErrorCode, details: EngineErrorDetails = {}): void {
    this.failure = new EngineError(code, details);
  }

  reset(): void {
    this.requests.length = 0;
    this.bodies.length = 0;
    this.abandoned = 0;
    this.failure = undefined;
    this.answer = undefined;
    this.gate = undefined;
  }
}
