import type { PointId } from './types';

/**
 * An id as it is in a path (C21). A string that begins with a quote has to be in JSON quotes there, and so has one that a URL
 * takes for a step to a folder.
 */
export function pathOfId(id: PointId): string {
  const isQuoted = typeof id === 'string' && (id.startsWith('"') || id === '.' || id === '..');
  return isQuoted ? JSON.stringify(id) : String(id);
}
