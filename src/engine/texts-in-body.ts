import { loadBinding } from './load';
import { namingModel, vectorsOf } from './text-vectors';
import { EngineError, type EngineRequest, type TextInput, type TextModels } from './types';

/** What making vectors of the texts of a body uses. */
export interface TextsInBody {
  readonly models: TextModels | undefined;
  readonly request: EngineRequest;
  /** Aborted when the request is given up; its reason is the error to fail with. */
  readonly signal: AbortSignal;
}

/**
 * What `attempt` makes of a body; where it fails with `vectors_wanted`, of the body with the vectors of its texts in it (C16). It
 * must not have done anything by then.
 * @throws EngineError that is the failure of the request.
 */
export async function withTextVectors<T>(
  body: Buffer,
  { models, request, signal }: TextsInBody,
  attempt: (body: Buffer) => Promise<T>,
): Promise<T> {
  let inputs: readonly TextInput[];
  try {
    return await attempt(body);
  } catch (error) {
    const isWanted = error instanceof EngineError && error.code === 'vectors_wanted';
    if (!isWanted || models === undefined) throw error;
    inputs = error.details.inputs ?? [];
  }
  const { readTextVectors, insertTextVectors } = loadBinding();
  const vectors = await vectorsOf(inputs, { models, request, read: readTextVectors, over: signal });
  const whole = await insertTextVectors(body, vectors);
  signal.throwIfAborted();
  try {
    return await attempt(whole);
  } catch (error) {
    throw namingModel(error, inputs);
  }
}
