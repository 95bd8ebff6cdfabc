import { path } from '../service/request';
import type { FieldModel } from '../service/types';

/** How far a re-embedding is, as the server says it. */
export interface Report {
  readonly model: FieldModel;
  readonly rate?: number;
  readonly state: 'waiting' | 'running' | 'retrying' | 'ready';
  readonly done: number;
  readonly total: number;
  readonly missing_texts: number;
  readonly eta_seconds: number | null;
  readonly error?: string;
}

/** Where the re-embedding of a vector is; the unnamed one has two quotes. */
export function placeOf(collection: string, vector: string, ...rest: readonly string[]): string {
  return path('collections', collection, 'vectors', vector === '' ? '""' : vector, 'reembed', ...rest);
}

export function labelOf(vector: string): string {
  return vector === '' ? 'the unnamed vector' : vector;
}
