/** What a thread is asked, one call at a time. */
export interface Question {
  readonly id: number;
  readonly texts: readonly string[];
}

/** What a thread says: first that it is ready or why not, then an answer to each question. */
export type Report =
  | { readonly kind: 'ready'; readonly dimension: number }
  | { readonly kind: 'broken'; readonly message: string; readonly code?: string | undefined }
  | { readonly kind: 'vectors'; readonly id: number; readonly vectors: Float32Array }
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly message: string;
      readonly text?: number | undefined;
    };
