import { EngineError, type EngineRequest, type TextInput, type TextModels } from './types';

/** Time that a request has when it does not say how much, as in the engine. */
const DEFAULT_TIMEOUT_SECONDS = 60;
/** Components of the vectors of one request's texts. */
const MAX_COMPONENTS = 4 * 1024 * 1024;
/** What a component takes in the body, at most, beside its 4 bytes here. */
const BODY_BYTES_A_COMPONENT = 16;
const HEAD_BYTES = 8;

/** What this needs of the request and of the native engine. */
export interface Supply {
  readonly models: TextModels;
  readonly request: EngineRequest;
  readonly read: (answer: Buffer, texts: number) => Promise<Buffer>;
  /** Aborted when nobody waits for the answer any more, or the engine closes; its reason is the error to fail with. */
  readonly over: AbortSignal;
}

/**
 * The vectors of a request's texts in the form that the native engine takes: for each text its place in the body and its
 * number of components (32 bits each), and the components (32 bits each, little-endian).
 * @throws EngineError that is the failure of the request.
 */
export async function vectorsOf(inputs: readonly TextInput[], supply: Supply): Promise<Buffer> {
  const { models, request, read, over } = supply;
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(tooLate(request));
  }, timeLeft(request));
  timer.unref();
  const hold = (bytes: number): void => {
    if (request.hold?.(bytes) === false) {
      throw new EngineError('overloaded', { message: 'Too many request bytes in progress' });
    }
  };
  try {
    hold(inputs.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0));
    const signal = AbortSignal.any([over, late.signal]);
    const vectors = await models.vectors(inputs, { signal, read, hold });
    return frameOf(inputs, vectors, hold);
  } finally {
    clearTimeout(timer);
  }
}

/** Adds the model that made vectors of a wrong length to the failure of a request. */
export function namingModel(error: unknown, inputs: readonly TextInput[]): unknown {
  if (!(error instanceof EngineError) || error.code !== 'dimension_mismatch') return error;
  const names = [...new Set(inputs.map(({ model }) => model))];
  return new EngineError(error.code, { ...error.details, model: names.join(', ') });
}

function timeLeft({ timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, arrivedAt }: EngineRequest): number {
  const passed = arrivedAt === undefined ? 0 : performance.now() - arrivedAt;
  // A timer takes at most 2^31 - 1 ms.
  return Math.min(Math.max(timeoutSeconds * 1000 - passed, 0), 2 ** 31 - 1);
}

function tooLate({ timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: EngineRequest): EngineError {
  const message = `the vectors of the request's texts were not there after ${timeoutSeconds} s`;
  return new EngineError('timeout', { message });
}

function frameOf(
  inputs: readonly TextInput[],
  vectors: readonly Buffer[],
  hold: (bytes: number) => void,
): Buffer {
  const bytes = vectors.reduce((sum, vector) => sum + vector.length, 0);
  const components = bytes / 4;
  if (components > MAX_COMPONENTS) {
    const message = `at most ${MAX_COMPONENTS} components of vectors of texts a request, got ${components}`;
    throw new EngineError('bad_request', { message });
  }
  hold(bytes + components * BODY_BYTES_A_COMPONENT);
  const frame = Buffer.allocUnsafeSlow(inputs.length * HEAD_BYTES + bytes);
  let end = 0;
  for (const [place, { at }] of inputs.entries()) {
    const vector = vectors[place] ?? Buffer.alloc(0);
    end = frame.writeUInt32LE(at, end);
    end = frame.writeUInt32LE(vector.length / 4, end);
    end += vector.copy(frame, end);
  }
  return frame;
}
