import { loadBinding } from './load';

/**
 * What is wrong with a filter, as JSON, for an access token (C15): a sentence; undefined for one that is good. It must have
 * a condition, and none on texts, whose meaning depends on the indexes of a collection.
 */
export function filterProblem(text: string): string | undefined {
  return loadBinding().filterProblem(text) ?? undefined;
}
