import { totalmem } from 'node:os';

/** Bodies in flight may hold so many bytes together, and never less than one of the largest size, */
const MAX_BYTES_IN_FLIGHT = 256 * 1024 * 1024;
/** but no more than this part of the memory: what is parsed of a body comes on top, and so does its record in the log. */
const MEMORY_DIVISOR = 8;

interface MemorySettings {
  readonly maxBodyBytes: number;
  /** In bytes; that of the container or of the machine when absent. */
  readonly memoryLimit?: number | undefined;
}

/** Bytes of bodies that the process holds at once; a larger body is a 413. */
export function bytesInFlight({ maxBodyBytes, memoryLimit = systemMemory() }: MemorySettings): number {
  const wanted = Math.max(MAX_BYTES_IN_FLIGHT, maxBodyBytes);
  return Math.min(wanted, Math.floor(memoryLimit / MEMORY_DIVISOR));
}

/** What the control groups of the process leave of the machine's memory. The engine looks closer when it opens. */
export function systemMemory(): number {
  // Of no group it is 0, or beyond any machine.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
