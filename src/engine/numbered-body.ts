import type { NativeEngine } from './binding';
import type { IncomingBody } from './types';

/** A body that the binding keeps under the number of its call. */
export class NumberedBody implements IncomingBody {
  constructor(
    private readonly native: NativeEngine,
    readonly call: number,
  ) {}

  append(piece: Buffer, capacity: number): void {
    const { buffer, byteOffset, byteLength } = piece;
    this.native.append(this.call, buffer as ArrayBuffer, byteOffset, byteLength, capacity);
  }

  discard(): void {
    this.native.discard(this.call);
  }
}
