/** Bounds of what the server holds at once for data endpoints; beyond them a request is a 429. */
export interface AdmissionLimits {
  /** Requests that are being read, executed or answered. */
  readonly requests: number;
  /** Bytes of their bodies, then of their answers. */
  readonly bytes: number;
}

/** The requests and bytes that one process holds at once for data endpoints. */
export interface Admission {
  readonly requestsInFlight: number;
  readonly bytesInFlight: number;
  /** A reservation for one request and the bytes of its body, or the sentence that says which bound is reached. */
  reserve(bytes: number): Reservation | string;
}

/** What one request holds of the budget, until it is released. */
export interface Reservation {
  /** Takes more bytes for a body without a length; false when the budget has no room for them. Needs no `this`. */
  readonly grow: (bytes: number) => boolean;
  /** Holds the bytes of an answer in place of those of the body. They are not refused: the answer exists already. */
  exchange(bytes: number): void;
  /** Gives everything back; a second call does nothing. Needs no `this`. */
  readonly release: () => void;
}

/**
 * Counts requests and body bytes in flight. The `Content-Length` of a body is reserved before its first byte is read, so
 * that an accepted body always fits; a body without a length is charged as it arrives.
 */
export class LocalAdmission implements Admission {
  #requests = 0;
  #bytes = 0;

  constructor(private readonly limits: AdmissionLimits) {}

  get requestsInFlight(): number {
    return this.#requests;
  }

  get bytesInFlight(): number {
    return this.#bytes;
  }

  reserve(bytes: number): Reservation | string {
    if (this.#requests >= this.limits.requests) {
      return `Too many requests in progress: limit ${this.limits.requests}`;
    }
    if (this.#bytes + bytes > this.limits.bytes) {
      return BUDGET_FULL;
    }
    this.#requests += 1;
    this.#bytes += bytes;
    let held = bytes;
    let open = true;
    return {
      grow: (more) => {
        if (!open || this.#bytes + more > this.limits.bytes) {
          return false;
        }
        held += more;
        this.#bytes += more;
        return true;
      },
      exchange: (bytes) => {
        if (open) {
          this.#bytes += bytes - held;
          held = bytes;
        }
      },
      release: () => {
        if (open) {
          open = false;
          this.#requests -= 1;
          this.#bytes -= held;
        }
      },
    };
  }
}

/** The sentence for a full budget of body bytes. */
export const BUDGET_FULL = 'Too many request bytes in progress';
