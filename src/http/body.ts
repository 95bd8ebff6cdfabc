import { BUDGET_FULL, type Reservation } from './admission';
import { BodyGarbage } from './body-garbage';
import { announcedLength, hasBody, isJson } from './content';
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
  if ((announcedLength(exchange.request) ?? 0) > limitBytes) {
    return bodyTooLarge(limitBytes);
  }
  if (!wanted || !hasBody(exchange.request)) {
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

/** A body that is being read, as the watch over slow ones sees it. */
interface Reading {
  readonly startedAt: number;
  received: number;
  readonly giveUp: () => void;
}

/** How slowly a body may arrive. */
export interface BodyPace {
  /** A body may be this slow before its rate counts. */
  readonly graceMs: number;
  readonly minBytesPerSecond: number;
  readonly watchIntervalMs: number;
}

export const DEFAULT_PACE: BodyPace = { graceMs: 5000, minBytesPerSecond: 1024, watchIntervalMs: 500 };

/** How reading a body ended; `gone` when the client left before its end. */
export type BodyOutcome = { readonly body: Buffer } | { readonly failure: Failure } | 'gone';

/**
 * Reads bodies as bytes that nothing in JavaScript looks at. One timer watches all bodies that have not arrived
 * whole, and gives up on those slower than the least rate (408).
 */
export class BodyReader {
  readonly #reading = new Set<Reading>();
  readonly #garbage = new BodyGarbage();
  #watch: NodeJS.Timeout | undefined;

  constructor(
    private readonly limitBytes: number,
    private readonly pace: BodyPace,
  ) {}

  /**
   * Calls back once. A body that arrives in one piece is handed on without a copy. The headers must have passed
   * {@link checkBodyHeaders}.
   */
  read(exchange: Exchange, reservation: Reservation, done: (outcome: BodyOutcome) => void): void {
    const { request } = exchange;
    const length = announcedLength(request);
    const collected =
      length === undefined
        ? new ChunkedBody(this.limitBytes, (bytes) => reservation.grow(bytes))
        : new SizedBody(length);
    const finish = (outcome: BodyOutcome): void => {
      request.off('data', onData);
      request.off('end', onEnd);
      request.off('close', onClose);
      this.#reading.delete(reading);
      done(outcome);
    };
    const reading: Reading = {
      startedAt: performance.now(),
      received: 0,
      giveUp: () => {
        finish({ failure: bodyTimeout() });
      },
    };
    const onData = (chunk: Buffer): void => {
      reading.received += chunk.length;
      this.#garbage.add(chunk.length);
      if (length === undefined && reading.received > this.limitBytes) {
        finish({ failure: bodyTooLarge(this.limitBytes) });
      } else if (!collected.add(chunk)) {
        finish({ failure: overloaded(BUDGET_FULL) });
      }
    };
    const onEnd = (): void => {
      finish({ body: collected.take() });
    };
    const onClose = (): void => {
      finish('gone');
    };
    request.on('data', onData);
    request.on('end', onEnd);
    request.on('close', onClose);
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

const EMPTY = Buffer.alloc(0);

/** Collects a body of known length: the only chunk itself, or all of them in one allocation. */
class SizedBody {
  #only: Buffer | undefined;
  #whole: Buffer | undefined;
  #filled = 0;

  constructor(private readonly length: number) {}

  /** Always true: its room was reserved before. */
  add(chunk: Buffer): boolean {
    if (chunk.length === this.length) {
      this.#only = chunk;
    } else {
      this.#whole ??= Buffer.allocUnsafeSlow(this.length);
      this.#filled += chunk.copy(this.#whole, this.#filled);
    }
    return true;
  }

  take(): Buffer {
    return this.#only ?? this.#whole ?? EMPTY;
  }
}

/**
 * Collects a body whose length is known at its end: the only chunk itself, or all of them in one buffer that doubles.
 * A chunk by itself costs hundreds of bytes, so that keeping many small ones would hold far more than was charged.
 */
export class ChunkedBody {
  #only: Buffer | undefined;
  #whole: Buffer | undefined;
  #filled = 0;
  #charged = 0;

  /** `charge` takes bytes from the budget, or says false. The caller adds no more than `limitBytes`. */
  constructor(
    private readonly limitBytes: number,
    private readonly charge: (bytes: number) => boolean,
  ) {}

  /** False when the budget has no room for what the body has to hold with this chunk. */
  add(chunk: Buffer): boolean {
    const wanted = this.#filled + chunk.length;
    if (this.#filled === 0) {
      if (!this.#hold(wanted)) {
        return false;
      }
      this.#only = chunk;
    } else {
      if (wanted > (this.#whole?.length ?? 0)) {
        const capacity = Math.max(wanted, Math.min(2 * wanted, this.limitBytes));
        if (!this.#hold(capacity)) {
          return false;
        }
        const grown = Buffer.allocUnsafeSlow(capacity);
        (this.#whole ?? this.#only)?.copy(grown, 0, 0, this.#filled);
        this.#whole = grown;
        this.#only = undefined;
      }
      this.#whole?.set(chunk, this.#filled);
    }
    this.#filled = wanted;
    return true;
  }

  #hold(bytes: number): boolean {
    if (!this.charge(bytes - this.#charged)) {
      return false;
    }
    this.#charged = bytes;
    return true;
  }

  take(): Buffer {
    return this.#only ?? this.#whole?.subarray(0, this.#filled) ?? EMPTY;
  }
}
