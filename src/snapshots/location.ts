import { malformed } from './failure';

const RULE =
  'location: a snapshot is recovered from an upload, or by the name of one that this server lists, never from a URL';

/**
 * The name of a snapshot in the `location` of a recovery: the name itself, or the last part of a `file://` URL, as Qdrant's
 * clients write it. The folders of the URL have no meaning: a snapshot is looked up among those that are listed.
 * @throws SnapshotRefusal
 */
export function snapshotNameOf(location: string): string {
  if (!location.includes(':') && !location.includes('/')) return location;
  if (!/^file:\/\//i.test(location)) throw malformed(RULE);
  try {
    return decodeURIComponent(new URL(location).pathname.split('/').at(-1) ?? '');
  } catch {
    throw malformed(RULE);
  }
}
