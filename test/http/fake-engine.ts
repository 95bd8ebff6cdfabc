import {
  EngineError,
  type Engine,
  type EngineErrorCode,
  type EngineErrorDetails,
  type EngineRequest,
  type EngineStatus,
} from '../../src/engine/types';

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
    return { state: 'ready', collections: 3, points: 42, faults: [] };
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
