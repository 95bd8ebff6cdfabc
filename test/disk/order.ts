import { dirname } from 'node:path';
import type { DiskCall } from './calls';

/** How often a rule of an order applied, and where it was broken. */
export interface Checked {
  readonly applied: number;
  readonly broken: readonly string[];
}

/** What is durable at each moment of a recorded process, as far as POSIX promises it. */
export class DiskOrder {
  readonly #byInode = new Map<string, DiskCall[]>();
  readonly #byThread = new Map<number, DiskCall[]>();

  constructor(readonly calls: readonly DiskCall[]) {
    for (const call of calls) {
      // What the library does not see being written cannot be judged.
      if (call.name === 'map' || call.name === 'io_uring') throw new Error(`${call.name} of ${call.path}`);
      grouped(this.#byInode, call.inode).push(call);
      grouped(this.#byThread, call.thread).push(call);
    }
  }

  /** The calls of a name whose paths match. */
  of(name: DiskCall['name'], path: RegExp): readonly DiskCall[] {
    return this.calls.filter((call) => call.name === name && path.test(call.path));
  }

  /** The last call of these that ended before a moment. */
  last(name: DiskCall['name'], path: string, before: number): DiskCall | undefined {
    return this.calls.findLast((call) => call.name === name && call.path === path && call.end < before);
  }

  /** Whether a file or folder was synced between two moments. */
  isSynced(call: DiskCall, from: number, to: number): boolean {
    return this.#of(call.inode).some((one) => one.name === 'sync' && one.begin > from && one.end < to);
  }

  /** Whether the folder that holds the name of a call was synced between its end and a moment. */
  isNameSynced({ path, end }: DiskCall, before: number): boolean {
    const folder = dirname(path);
    return this.calls.some(
      (one) => one.name === 'sync' && one.path === folder && one.begin > end && one.end < before,
    );
  }

  /** Whether a file, which a call names, has content, all of which was synced before a moment. */
  isContentSynced({ inode }: DiskCall, before: number): boolean {
    const calls = this.#of(inode).filter((one) => one.begin < before);
    const made = calls.findLast((one) => one.name === 'create');
    const changes = calls.filter((one) => one.name === 'write' || one.name === 'truncate');
    const last = Math.max(...changes.map((one) => one.end));
    const isWritten = changes.some((one) => made === undefined || one.begin > made.begin);
    return isWritten && calls.some((one) => one.name === 'sync' && one.begin > last && one.end < before);
  }

  /** What the same thread did on the disk after a call. */
  next({ thread, begin }: DiskCall): DiskCall | undefined {
    return this.#byThread.get(thread)?.find((one) => one.begin > begin && one.name !== 'answer');
  }

  #of(inode: string): readonly DiskCall[] {
    return this.#byInode.get(inode) ?? [];
  }
}

function grouped<K>(groups: Map<K, DiskCall[]>, key: K): DiskCall[] {
  const group = groups.get(key) ?? [];
  groups.set(key, group);
  return group;
}

const HOLDS = 'holds';
const DOES_NOT_APPLY = 'does not apply';

/** Applies a rule to each of some calls; the rule says what is wrong, or that it holds or does not apply. */
function each(calls: readonly DiskCall[], rule: (call: DiskCall) => string): Checked {
  const found = calls.map((call) => ({ call, outcome: rule(call) }));
  const applied = found.filter(({ outcome }) => outcome !== DOES_NOT_APPLY);
  const broken = applied.filter(({ outcome }) => outcome !== HOLDS);
  return {
    applied: applied.length,
    broken: broken.map(({ call, outcome }) => `${call.name} ${call.path} at ${call.begin}: ${outcome}`),
  };
}

/** A write is answered after the sync of its record, and of the name of the segment that has it. */
export function recordsAreSyncedBeforeAnswers(order: DiskOrder): Checked {
  const records = order.of('write', /^log\//);
  return each(order.of('answer', /^socket:/), (answer) => {
    const record = records.find(({ marks }) => marks.includes(answer.marks[0]!));
    if (record === undefined) return DOES_NOT_APPLY;
    if (!order.isSynced(record, record.end, answer.begin)) return `${record.path} was not synced before`;
    const named = order.of('rename', /^log\/.*\.log$/).find(({ inode }) => inode === record.inode);
    if (named !== undefined && !order.isNameSynced(named, answer.begin))
      return `the name ${record.path} was not synced before`;
    return HOLDS;
  });
}

/** A file is synced before it takes the place of another, and nothing else is done before its folder is synced. */
export function replacementsAreSynced(order: DiskOrder, path: RegExp): Checked {
  return each(order.of('rename', path), (renamed) => {
    if (!order.isContentSynced(renamed, renamed.begin)) return 'it was not synced before';
    const next = order.next(renamed);
    const isNext = next?.name === 'sync' && next.path === dirname(renamed.path);
    return isNext ? HOLDS : `its folder was not synced after it, but ${next?.name} ${next?.path}`;
  });
}

/** Everything in a segment of the log is synced before the next one has its name. */
export function segmentsAreSyncedBeforeTheNext(order: DiskOrder): Checked {
  const segments = order.of('rename', /^log\/\w+\.log$/);
  return each(segments.slice(1), (next) => {
    const former = segments[segments.indexOf(next) - 1]!;
    return order.isContentSynced(former, next.begin) ? HOLDS : `${former.path} was not synced before`;
  });
}

/** The data files of a collection, and their names, are durable before a manifest that may name them is in force. */
export function dataIsSyncedBeforeManifests(order: DiskOrder): Checked {
  const pairs = order.of('rename', /^collections\/\w+\/MANIFEST$/).flatMap((manifest) => {
    const made = order.of('create', /\.data$/).filter((file) => {
      const isOf = dirname(file.path) === dirname(manifest.path) && file.end < manifest.begin;
      return isOf && order.last('unlink', file.path, manifest.begin) === undefined;
    });
    return made.map((file) => ({ file, manifest }));
  });
  const broken = pairs.flatMap(({ file, manifest }) => {
    const [isContent, isName] = [
      order.isContentSynced(file, manifest.begin),
      order.isNameSynced(file, manifest.begin),
    ];
    if (isContent && isName) return [];
    return [`the ${isContent ? 'name' : 'content'} of ${file.path} before the manifest at ${manifest.begin}`];
  });
  return { applied: pairs.length, broken };
}

/** The name of a folder is durable before a file in it takes its place. */
export function foldersAreSyncedBeforeWhatIsInThem(order: DiskOrder): Checked {
  return each(order.of('mkdir', /^(?!staging)/), (made) => {
    const first = order.calls.find(
      (one) => one.name === 'rename' && dirname(one.path) === made.path && one.begin > made.end,
    );
    if (first === undefined) return DOES_NOT_APPLY;
    return order.isNameSynced(made, first.begin) ? HOLDS : `its name was not synced before ${first.path}`;
  });
}

/** Data files go when a manifest that does not name them is durable. */
export function manifestsAreSyncedBeforeDataGoes(order: DiskOrder): Checked {
  return each(order.of('unlink', /^collections\/\w+\/\w+\.data$/), (removed) => {
    const manifest = order.last('rename', `${dirname(removed.path)}/MANIFEST`, removed.begin);
    if (manifest === undefined) return 'there was no manifest before';
    return order.isNameSynced(manifest, removed.begin) ? HOLDS : 'the manifest was not durable';
  });
}

/** Marks below this are in names of collections, and so in records of the catalog; the others are in points. */
export const FIRST_POINT_MARK = 1000;

/**
 * A segment of the log goes when what makes its records unnecessary is durable: both marks of the cut, a manifest that is
 * younger than its points, and both files of the catalog, younger than the collections that it creates.
 */
export function everythingIsSyncedBeforeTheLogIsCut(order: DiskOrder, manifest: RegExp): Checked {
  return each(order.of('unlink', /^log\/\w+\.log$/), (removed) => {
    const last = (isOf: (mark: number) => boolean): number | undefined =>
      order.calls
        .filter((one) => one.path === removed.path && one.name === 'write' && one.marks.some(isOf))
        .at(-1)?.end;
    const isDurable = (path: RegExp, after: number): boolean =>
      order
        .of('rename', path)
        .some(
          (one) => one.begin > after && one.end < removed.begin && order.isNameSynced(one, removed.begin),
        );
    const points = last((mark) => mark >= FIRST_POINT_MARK);
    const creations = last((mark) => mark < FIRST_POINT_MARK);
    const wanted: readonly (readonly [RegExp, number | undefined])[] = [
      [/^log\/cut$/, points ?? creations ?? 0],
      [/^catalog\/cut$/, points ?? creations ?? 0],
      [manifest, points],
      [/^catalog\/CATALOG$/, creations],
      [/^collections\/CATALOG$/, creations],
    ];
    const missing = wanted.find(([path, after]) => after !== undefined && !isDurable(path, after));
    return missing === undefined ? HOLDS : `${String(missing[0])} was not durable`;
  });
}

/** Files and folders are durable before a call: names, and the content of what is no folder and no link to another file. */
export function areDurableBefore(order: DiskOrder, paths: readonly string[], call: DiskCall): Checked {
  const broken = paths.flatMap((path) => {
    const named = order.calls.findLast(
      (one) =>
        one.path === path && ['create', 'rename', 'link', 'mkdir'].includes(one.name) && one.end < call.begin,
    );
    if (named === undefined) return [`${path} was not made`];
    const hasContent = named.name === 'create' || named.name === 'rename';
    return [
      ...(order.isNameSynced(named, call.begin) ? [] : [`the name of ${path} was not synced`]),
      ...(!hasContent || order.isContentSynced(named, call.begin) ? [] : [`${path} was not synced`]),
    ];
  });
  return { applied: paths.length, broken };
}
