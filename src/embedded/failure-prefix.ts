import type { Operation } from '../engine/types';
import { engineRoutes } from '../engine-routes';

/** The prefix of each operation's internal failures (C1.4), as its routes over HTTP have it. */
const PREFIXES: ReadonlyMap<Operation, string> = new Map(
  engineRoutes.map(({ operation, failed }) => [operation, failed]),
);

/** How the message of an internal failure begins, such as `Upsert failed`. */
export function failurePrefix(operation: Operation): string {
  return PREFIXES.get(operation) ?? 'Operation failed';
}
