/** A model that could not make vectors. The sentence says nothing of keys, and nothing that an endpoint said. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';

  constructor(
    readonly model: string,
    readonly why: string,
    /** The place of the text among those of the call, where it is known. */
    readonly text?: number,
  ) {
    super(`${model}: ${why}`);
  }
}
