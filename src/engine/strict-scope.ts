/** What strict mode limits of a collection as a whole (C4.3). */
export interface CollectionSize {
  readonly points: number;
  readonly vectorBytes: number;
  readonly payloadBytes: number;
}

/**
 * Which limits of strict mode a request meets that is not the one of a client: `check` is met by all but those on the size of the
 * collection, with the seconds that the client gave, answers `true` and does nothing; `part` is a part of a request that was
 * checked, and meets those on the size alone, of which other shards have the rest.
 */
export type StrictScope =
  | { readonly kind: 'check'; readonly timeoutSeconds?: number | undefined }
  | { readonly kind: 'part'; readonly elsewhere: CollectionSize };

/** Nothing is elsewhere: a read, or a write of a collection without limits on its size. */
export const PART: StrictScope = {
  kind: 'part',
  elsewhere: { points: 0, vectorBytes: 0, payloadBytes: 0 },
};

/** The text of a scope, as the binding and other nodes take it. */
export function strictScopeText(scope: StrictScope): string {
  if (scope.kind === 'check') {
    return scope.timeoutSeconds === undefined ? 'check' : `check:${Math.floor(scope.timeoutSeconds)}`;
  }
  const { points, vectorBytes, payloadBytes } = scope.elsewhere;
  return `part:${points}:${vectorBytes}:${payloadBytes}`;
}

/** The scope of a text; undefined for one that is none. */
export function readStrictScope(text: string): StrictScope | undefined {
  const [kind, ...numbers] = text.split(':');
  if (!numbers.every((number) => /^\d{1,15}$/.test(number))) return undefined;
  const [first, vectorBytes, payloadBytes, ...more] = numbers.map(Number);
  if (more.length > 0) return undefined;
  if (kind === 'check' && vectorBytes === undefined) {
    return { kind, ...(first !== undefined && { timeoutSeconds: first }) };
  }
  const isPart = kind === 'part' && first !== undefined;
  return isPart && vectorBytes !== undefined && payloadBytes !== undefined
    ? { kind, elsewhere: { points: first, vectorBytes, payloadBytes } }
    : undefined;
}
