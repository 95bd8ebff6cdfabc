import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { preloadedLibrary } from '../preloaded';

/** A call that changed or synced something on the disk, or an answer to a request that had a mark. */
export interface DiskCall {
  /** Places in one order of all threads of a process: a call that ended before another began has the lesser number. */
  readonly begin: number;
  readonly end: number;
  readonly thread: number;
  readonly name:
    | 'create'
    | 'write'
    | 'truncate'
    | 'sync'
    | 'rename'
    | 'link'
    | 'unlink'
    | 'mkdir'
    | 'map'
    | 'io_uring'
    | 'answer';
  /** Below the folder that is watched, which is `.`. */
  readonly path: string;
  /** What was renamed or linked. */
  readonly from: string;
  readonly inode: string;
  /** Marks in what was written: see {@link mark}. */
  readonly marks: readonly number[];
}

/** Compiles the library that records calls; undefined where there is no C compiler, or no such library. */
export function diskCallsLibrary(into: string): string | undefined {
  return preloadedLibrary(join(__dirname, 'disk-calls.c'), join(into, 'disk-calls.so'));
}

/** What is recorded of a process, and where. */
export interface Recording {
  readonly library: string;
  readonly folder: string;
  /** Not in the folder. */
  readonly log: string;
  /** The number of the call before which the process is killed. */
  readonly killAt?: number | undefined;
}

/** The environment of a process whose calls are recorded. */
export function recorded({ library, folder, log, killAt }: Recording): Record<string, string> {
  return {
    LD_PRELOAD: library,
    DISK_CALLS_FOLDER: folder,
    DISK_CALLS: log,
    ...(killAt !== undefined && { DISK_CALLS_KILL_AT: String(killAt) }),
  };
}

/** A text that is seen in what is written to the disk and to sockets. */
export function mark(number: number): string {
  return `disk-mark-${String(number).padStart(6, '0')}`;
}

/** The calls of a process that succeeded, in the order in which they began. */
export function readCalls(log: string): readonly DiskCall[] {
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1);
  const calls = lines.map((line) => line.split('\t')).filter(([, , , , result]) => Number(result) >= 0);
  return calls.map(parsed).sort((a, b) => a.begin - b.begin);
}

function parsed(parts: readonly string[]): DiskCall {
  const [begin, end, thread, name, , inode, path, from, marks] = parts as [string, string, ...string[]];
  return {
    begin: Number(begin),
    end: Number(end),
    thread: Number(thread),
    name: name as DiskCall['name'],
    inode: inode!,
    path: path!,
    from: from!,
    marks: marks === '' ? [] : marks!.split(',').map(Number),
  };
}
