import type { PeerLimits } from './limits';

/** A question that is under way. */
export interface HeldShare {
  /** Takes bytes of what all questions may hold together; false where there are none. */
  hold(bytes: number): boolean;
  /** Gives all of it back. */
  end(): void;
}

/** What the questions of other nodes that are under way take of this one. */
export class PeerLoad {
  #heldBytes = 0;
  /** Questions under way, by the address that they come from. */
  readonly #running = new Map<string, number>();

  constructor(private readonly limits: Pick<PeerLimits, 'maxHeldBytes' | 'maxRequestsPerPeer'>) {}

  /** Begins a question; undefined where an address has as many as it may. */
  begin(from: string): HeldShare | undefined {
    const running = this.#running.get(from) ?? 0;
    if (running >= this.limits.maxRequestsPerPeer) return undefined;
    this.#running.set(from, running + 1);
    let held = 0;
    return {
      hold: (bytes) => {
        if (this.#heldBytes + bytes > this.limits.maxHeldBytes) return false;
        this.#heldBytes += bytes;
        held += bytes;
        return true;
      },
      end: () => {
        this.#heldBytes -= held;
        const left = (this.#running.get(from) ?? 1) - 1;
        if (left === 0) this.#running.delete(from);
        else this.#running.set(from, left);
      },
    };
  }
}
