import {
  EngineError,
  type Engine,
  type EngineErrorCode,
  type EngineErrorDetails,
  type EngineInternals,
  type EngineRequest,
  type EngineStatus,
} from '../../src/engine/types';

/** Each figure its own, so that a test sees where it went. */
const INTERNALS: EngineInternals = {
  memory: { originals: 101, originalsMapped: 102, codes: 103, links: 104, points: 105, payloads: 106 },
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
  },
  kernels: { rows: 'avx2', codes: 'avx_vnni' },
};

/** An engine that answers with what it was asked, so that a test sees what crosses the boundary. */
export class FakeEngine implements Engine {
  readonly requests: EngineRequest[] = [];
  /** Each request fails with this, when set. */
  failure: Error | undefined;
  /** Requests wait for this, when set. */
  gate: Promise<void> | undefined;
  /** Each request is answered with this, when set. */
  answer: Buffer | undefined;
  opening: Promise<void> = Promise.resolve();
  closed = false;

  open(): Promise<void> {
    return this.opening;
  }

  async execute(request: EngineRequest): Promise<Buffer> {
    this.requests.push(request);
    await this.gate;
    if (this.failure !== undefined) {
      throw this.failure;
    }
    if (this.answer !== undefined) {
      return this.answer;
    }
    const { body, ...rest } = request;
    const result = { ...rest, arrivedAt: undefined, bodyLength: body?.length ?? null };
    return Buffer.from(JSON.stringify({ usage: {}, time: 0.001, status: 'ok', result }));
  }

  status(): EngineStatus {
    return { state: 'ready', collections: 3, points: 42, faults: [], internals: INTERNALS };
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  failWith(code: EngineErrorCode, details: EngineErrorDetails = {}): void {
    this.failure = new EngineError(code, details);
  }

  reset(): void {
    this.requests.length = 0;
    this.failure = undefined;
    this.answer = undefined;
    this.gate = undefined;
  }
}
