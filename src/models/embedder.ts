/** How the vectors of an answer are read: in the engine, on a thread of its own. */
export type AnswerReader = (answer: Buffer, texts: number) => Promise<Buffer>;

/** What one call may have; a longer text has a call of its own. */
export interface CallSize {
  readonly texts: number;
  readonly bytes: number;
}

/** What makes the vectors of one model's texts. */
export interface Embedder {
  readonly callSize: CallSize;
  /** Whether a request waits for each call before it makes the next one, so that those of others come between. */
  readonly isOneAtATime: boolean;
  /**
   * The vectors of some texts, one after the other: first the number of components (32 bits), then the components of all (32
   * bits each, little-endian).
   * @throws ModelFailure when the model fails.
   * @throws EngineError `overloaded` when too many calls wait.
   */
  vectors(texts: readonly string[], signal: AbortSignal, read: AnswerReader): Promise<Buffer>;
  close(): Promise<void>;
}
