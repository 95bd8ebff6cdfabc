/** Vectors in the results of reads: where they are, and how they become `Float32Array`s. */
import type { KithClient } from './client';

/** Makes a vector of what stands for its components. */
export type MakeVector = (components: readonly number[]) => Float32Array;

/** Replaces the vectors of all points in a result, in place. Payloads are not looked at. */
export function replaceVectors(result: unknown, make: MakeVector): void {
  if (Array.isArray(result)) {
    for (const item of result) replaceVectors(item, make);
  } else if (typeof result === 'object' && result !== null) {
    const point = result as { points?: unknown; groups?: unknown; vector?: unknown };
    if (Array.isArray(point.points)) {
      replaceVectors(point.points, make);
    } else if (Array.isArray(point.groups)) {
      for (const { hits, lookup } of point.groups as { hits: unknown; lookup?: unknown }[]) {
        replaceVectors(hits, make);
        replaceVectors(lookup, make);
      }
    } else if (point.vector !== undefined && point.vector !== null) {
      point.vector = replaced(point.vector, make, true);
    }
  }
}

/** A vector in any of its forms (C2.3). At the outermost level an object has vectors by their names. */
function replaced(vector: unknown, make: MakeVector, mayBeNamed: boolean): unknown {
  if (Array.isArray(vector)) {
    return Array.isArray(vector[0])
      ? (vector as readonly (readonly number[])[]).map(make)
      : make(vector as readonly number[]);
  }
  const fields = vector as Readonly<Record<string, unknown>>;
  if (mayBeNamed) {
    return Object.fromEntries(
      Object.entries(fields).map(([name, one]) => [name, replaced(one, make, false)]),
    );
  }
  return { ...fields, values: make(fields['values'] as readonly number[]) };
}

/** A vector in an answer. */
type Float32Vector =
  Float32Array | Float32Array[] | { readonly indices: number[]; readonly values: Float32Array };

/** A result whose vectors are `Float32Array`s. */
export type Float32Result<T> = T extends readonly (infer Item)[]
  ? Float32Result<Item>[]
  : T extends { readonly points: infer Points }
    ? Omit<T, 'points'> & { readonly points: Float32Result<Points> }
    : T extends { readonly groups: readonly (infer Group extends { hits: unknown; lookup?: unknown })[] }
      ? Omit<T, 'groups'> & {
          readonly groups: (Omit<Group, 'hits' | 'lookup'> & {
            readonly hits: Float32Result<Group['hits']>;
            readonly lookup?: Float32Result<Group['lookup']>;
          })[];
        }
      : T extends { readonly vector?: unknown }
        ? Omit<T, 'vector'> & {
            readonly vector?: Float32Vector | Readonly<Record<string, Float32Vector>> | null;
          }
        : T;

/** A client whose answers have `Float32Array`s for vectors: one that was made with `float32Vectors`. */
export type Float32Client<Client extends KithClient = KithClient> = {
  readonly [Method in keyof Client]: Client[Method] extends (
    ...args: infer Arguments
  ) => Promise<infer Result>
    ? (...args: Arguments) => Promise<Float32Result<Result>>
    : Client[Method];
};
