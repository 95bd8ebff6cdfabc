/** L11 of the plan: the wall clocks of nodes jump. Those of log servers, which are programs of Go, do not. */
import { mkdtempSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preloadedLibrary } from '../../preloaded';
import { between, oneOf, progress, type FaultKind } from './kind';

const MAX_SHIFT_SECONDS = 3600;

/** What shifts the clock of a process. */
export class Clock {
  readonly #file: number;
  readonly env: Readonly<Record<string, string>>;

  /** @param library made by `clockLibrary` */
  constructor(folder: string, name: string, library: string) {
    const path = join(folder, `${name}.clock`);
    writeFileSync(path, Buffer.alloc(8));
    this.#file = openSync(path, 'r+');
    this.env = { LD_PRELOAD: library, CLOCK_SHIFT: path };
  }

  /** How many seconds it is ahead of the machine's; behind where negative. */
  shift(seconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    writeSync(this.#file, bytes, 0, 8, 0);
  }
}

let library: string | undefined;

/** The library that shifts the clock of a process; undefined where none can be made. */
export function clockLibrary(): string | undefined {
  return (library ??= preloadedLibrary(
    join(__dirname, 'clock-shift.c'),
    join(mkdtempSync(join(tmpdir(), 'kithdb-clock-')), 'clock-shift.so'),
  ));
}

export const clockJumps: FaultKind = {
  id: 'L11',
  name: 'the clock of a node jumps by up to an hour',
  count: 2,
  missing: clockLibrary() === undefined ? 'no C compiler on Linux' : undefined,
  async inject(scene) {
    const { cluster, random } = scene;
    const { clock } = oneOf(cluster.nodes, random);
    if (clock === undefined) return false;
    clock.shift(between(-MAX_SHIFT_SECONDS, MAX_SHIFT_SECONDS, random));
    await progress(scene);
    return true;
  },
};
