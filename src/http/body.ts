import type { Engine, IncomingBody } from '../engine/types';
import { BUDGET_FULL, type Reservation } from './admission';
import { isJson } from './content';
import { bodyTimeout, bodyTooLarge, overloaded, unsupportedBody, type Failure } from './errors';
import type { Exchange } from './exchange';

/**
 * What can be refused before the first byte of a body is read: its size and, where the route reads it (`wanted`),
 * its encoding and type.
 */
export function checkBodyHeaders(
  exchange: Exchange,
  limitBytes: number,
  wanted: boolean,
): Failure | undefined {
  const { headers } = exchange.request;
  if ((exchange.announcedBytes ?? 0) > limitBytes) {
    return bodyTooLarge(limitBytes);
  }
  if (!wanted || exchange.announcedBytes === 0) {
    return undefined;
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return unsupportedBody('Unsupported content encoding: the body must not be compressed');
  }
  if (!isJson(headers['content-type'])) {
    return unsupportedBody('Unsupported content type: the body must be application/json');
  }
  return undefined;
}

/** A body that is being read, for the timer that gives up on slow ones. */
interface Reading {
  readonly startedAt: number;
  received: number;
  readonly giveUp: () => void;
}

/** How slowly a body may arrive. */
export interface BodyPace {
  /** The rate of a body counts after this time. */
  readonly graceMs: number;
  readonly minBytesPerSecond: number;
  readonly watchIntervalMs: number;
}

export const DEFAULT_PACE: BodyPace = { graceMs: 5000, minBytesPerSecond: 1024, watchIntervalMs: 500 };

/** How reading a body ended: with a body, undefined for an empty one; `gone` when the client disconnected before its end. */
export type BodyOutcome =
  { readonly body: IncomingBody | undefined } | { readonly failure: Failure } | 'gone';

/** Where bodies go. */
type Receiver = Pick<Engine, 'receive'>;

/**
 * Reads bodies as bytes that JavaScript does not parse, and passes each chunk on to the engine. One timer watches all
 * bodies that have not arrived whole, and gives up on those slower than the minimum rate (408).
 */
export class BodyReader {
  readonly #reading = new Set<Reading>();
  #watch: NodeJS.Timeout | undefined;

  constructor(
    private readonly limitBytes: number,
    private readonly pace: BodyPace,
  ) {}

  /** Calls back once. The headers must have passed {@link checkBodyHeaders}. */
  read(
    exchange: Exchange,
    engine: Receiver,
    reservation: Reservation,
    done: (outcome: BodyOutcome) => void,
  ): void {
    const { request } = exchange;
    const gathered = new GatheredBody(engine, exchange.announcedBytes, this.limitBytes, reservation.grow);
    let over = false;
    const finish = (outcome: BodyOutcome): void => {
      // What still arrives is discarded.
      over = true;
      this.#reading.delete(reading);
      if (outcome === 'gone' || 'failure' in outcome) {
        gathered.discard();
      }
      done(outcome);
    };
    const reading: Reading = {
      startedAt: performance.now(),
      received: 0,
      giveUp: () => {
        finish({ failure: bodyTimeout() });
      },
    };
    request.on('data', (chunk: Buffer) => {
      if (over) {
        return;
      }
      reading.received += chunk.length;
      if (reading.received > this.limitBytes) {
        finish({ failure: bodyTooLarge(this.limitBytes) });
      } else if (!gathered.add(chunk)) {
        finish({ failure: overloaded(BUDGET_FULL) });
      }
    });
    request.on('end', () => {
      if (!over) {
        finish({ body: gathered.take() });
      }
    });
    exchange.whenOver(() => {
      if (!over) {
        finish('gone');
      }
    });
    this.#reading.add(reading);
    this.#watch ??= setInterval(() => {
      this.#giveUpOnSlow();
    }, this.pace.watchIntervalMs).unref();
    if (exchange.expectsContinue) {
      exchange.response.writeContinue();
    }
  }

  #giveUpOnSlow(): void {
    if (this.#reading.size === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
      return;
    }
    const now = performance.now();
    for (const reading of this.#reading) {
      const elapsedMs = now - reading.startedAt;
      const least = (elapsedMs / 1000) * this.pace.minBytesPerSecond;
      if (elapsedMs > this.pace.graceMs && reading.received < least) {
        reading.giveUp();
      }
    }
  }
}

/**
 * A body that the engine collects. Without a length its capacity doubles as it fills, so that what the engine holds is
 * what was charged, however small the chunks are.
 */
export class GatheredBody {
  #body: IncomingBody | undefined;
  #filled = 0;
  #capacity: number;

  /**
   * `charge` takes bytes from the budget, or gives false; those of `length` were charged before. The caller adds no
   * more than `limitBytes`.
   */
  constructor(
    private readonly engine: Receiver,
    length: number | undefined,
    private readonly limitBytes: number,
    private readonly charge: (bytes: number) => boolean,
  ) {
    this.#capacity = length ?? 0;
  }

  /** Takes a chunk, whose memory may be gone afterwards; false when the budget has no room for it. */
  add(chunk: Buffer): boolean {
    const filled = this.#filled + chunk.length;
    if (filled > this.#capacity) {
      // Most bodies are one chunk.
      const capacity = this.#filled === 0 ? filled : Math.max(filled, Math.min(2 * filled, this.limitBytes));
      if (!this.charge(capacity - this.#capacity)) {
        return false;
      }
      this.#capacity = capacity;
    }
    this.#body ??= this.engine.receive();
    this.#body.append(chunk, this.#capacity);
    this.#filled = filled;
    return true;
  }

  take(): IncomingBody | undefined {
    return this.#body;
  }

  discard(): void {
    this.#body?.discard();
  }
}
