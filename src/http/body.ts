import type { IncomingMessage } from 'node:http';
import type { Engine, IncomingBody } from '../engine/types';
import type { Admission, Arrival, Reservation } from './admission';
import type { ArrivingBody } from './arriving-bodies';
import type { AuditedBody } from './audited-body';
import { ARROW_STREAM, isArrow, isJson, isJsonLines, JSON_LINES } from './content';
import { bodyCoding } from './content-coding';
import { bodyTooLarge, unsupportedBody, unsupportedCoding, type Failure } from './errors';
import type { Exchange } from './exchange';
import { Inflation, INFLATION_BYTES } from './inflation';
import { LinkedList } from './linked-list';
import { slowBody, type Refusal } from './refusal';
import type { EngineRoute } from './route-table';
import type { Client } from './shares';

/**
 * What can be refused before the first byte of a body is read: its size and, where the route reads it, its encoding and
 * type.
 */
export function checkBodyHeaders(
  exchange: Exchange,
  limitBytes: number,
  route: Pick<EngineRoute, 'body' | 'takesRows'>,
): Failure | undefined {
  const { headers } = exchange.request;
  if ((exchange.announcedBytes ?? 0) > limitBytes) {
    return bodyTooLarge(limitBytes);
  }
  if (!route.body || exchange.announcedBytes === 0) {
    return undefined;
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && bodyCoding(encoding) === undefined) {
    return unsupportedCoding(encoding);
  }
  const type = headers['content-type'];
  const takesRows = route.takesRows === true;
  if (isJson(type) || (takesRows && (isArrow(type) || isJsonLines(type)))) {
    return undefined;
  }
  const types = takesRows ? `application/json, ${JSON_LINES} or ${ARROW_STREAM}` : 'application/json';
  return unsupportedBody(`Unsupported content type: the body must be ${types}`);
}

/** How slowly a body may arrive. */
export interface BodyPace {
  /** The rate of a body is measured over windows of this length. */
  readonly graceMs: number;
  readonly minBytesPerSecond: number;
  /** The time after which a body must have doubled: the minimum rate rises with what has arrived. */
  readonly doublingMs: number;
  readonly watchIntervalMs: number;
}

export const DEFAULT_PACE: BodyPace = {
  graceMs: 5000,
  minBytesPerSecond: 1024,
  doublingMs: 60_000,
  watchIntervalMs: 500,
};

/**
 * How reading a body ended: with a body, undefined for an empty one, and what its request holds while it runs; `gone`
 * when the client disconnected before its end.
 */
export type BodyOutcome =
  | { readonly body: IncomingBody | undefined; readonly reservation: Reservation }
  | { readonly failure: Failure }
  | { readonly refusal: Refusal }
  | 'gone';

/** Where bodies go. */
type Receiver = Pick<Engine, 'receive'>;

/**
 * Reads bodies as bytes that JavaScript does not parse, and passes each chunk on to the engine. One timer watches all
 * bodies that have not arrived whole, and gives up on those slower than the minimum rate (408).
 */
export class BodyReader {
  readonly #reading = new LinkedList<Reading>();
  #watch: NodeJS.Timeout | undefined;

  constructor(
    private readonly admission: Pick<Admission, 'receive'>,
    private readonly limitBytes: number,
    private readonly pace: BodyPace,
  ) {}

  /** Calls back once. The headers must have passed {@link checkBodyHeaders}. */
  read(exchange: Exchange, client: Client, engine: Receiver, done: (outcome: BodyOutcome) => void): void {
    const { arrivedAt, announcedBytes } = exchange;
    const reading = new Reading(arrivedAt, this.limitBytes, (outcome) => {
      entry.remove();
      done(outcome);
    });
    const arrival = this.admission.receive(client, arrivedAt, announcedBytes, reading);
    if ('reason' in arrival) {
      done({ refusal: arrival });
      return;
    }
    const isCompressed = bodyCoding(exchange.request.headers['content-encoding']) === 'gzip';
    const length = isCompressed ? undefined : announcedBytes;
    const gathered = new GatheredBody(
      engine,
      length,
      this.limitBytes,
      (bytes) => arrival.grow(bytes),
      exchange.auditedBody,
    );
    const entry = this.#reading.add(reading);
    if (isCompressed) {
      reading.beginInflating(exchange, arrival, gathered);
    } else {
      reading.begin(exchange, arrival, gathered);
    }
    if (!entry.isListed) {
      return;
    }
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
      if (reading.isSlow(now, this.pace)) {
        reading.giveUp(slowBody());
      }
    }
  }
}

/** A body that is being read. */
class Reading implements ArrivingBody {
  /** Inflated bytes: those that count against the limits. */
  received = 0;
  #over = false;
  /** Everything has arrived, and a part may not be inflated yet. */
  #isWhole = false;
  #windowFrom: number;
  #receivedBefore = 0;
  #arrival: Arrival | undefined;
  #gathered: GatheredBody | undefined;
  #inflation: Inflation | undefined;
  /** The request of a compressed body, which may be paused. */
  #request: IncomingMessage | undefined;

  /** `arrivedAt` is when its head arrived; `done` is called once. */
  constructor(
    arrivedAt: number,
    private readonly limitBytes: number,
    private readonly done: (outcome: BodyOutcome) => void,
  ) {
    this.#windowFrom = arrivedAt;
  }

  begin(exchange: Exchange, arrival: Arrival, gathered: GatheredBody): void {
    this.#arrival = arrival;
    this.#gathered = gathered;
    const { request } = exchange;
    request.on('data', (chunk: Buffer) => {
      this.#add(chunk, gathered);
    });
    request.on('end', () => {
      this.#end(arrival, gathered);
    });
    exchange.whenOver(() => {
      this.#fail('gone');
    });
  }

  /** The same for a compressed body: it is read no faster than it is inflated. */
  beginInflating(exchange: Exchange, arrival: Arrival, gathered: GatheredBody): void {
    this.#arrival = arrival;
    const refused = arrival.grow(INFLATION_BYTES);
    if (refused !== undefined) {
      this.#fail({ refusal: refused });
      return;
    }
    this.#gathered = gathered;
    const { request } = exchange;
    this.#request = request;
    const inflation = new Inflation(exchange.announcedBytes, {
      piece: (bytes) => {
        this.#add(bytes, gathered);
      },
      end: () => {
        this.#end(arrival, gathered);
      },
      fail: (failure) => {
        this.#fail({ failure });
      },
    });
    this.#inflation = inflation;
    const next = (): void => {
      request.resume();
    };
    request.on('data', (chunk: Buffer) => {
      if (!this.#over) {
        request.pause();
        inflation.write(chunk, next);
      }
    });
    request.on('end', () => {
      this.#isWhole = true;
      if (!this.#over) {
        inflation.end();
      }
    });
    exchange.whenOver(() => {
      this.#fail('gone');
    });
  }

  giveUp(refusal: Refusal): void {
    this.#fail({ refusal });
  }

  /** Whether less has arrived in the window that ends now than must have; the next window begins when enough has. */
  isSlow(now: number, { graceMs, minBytesPerSecond, doublingMs }: BodyPace): boolean {
    const elapsedMs = now - this.#windowFrom;
    if (elapsedMs <= graceMs || this.#isWhole) {
      return false;
    }
    const perSecond = Math.max(minBytesPerSecond, (this.#receivedBefore / doublingMs) * 1000);
    if (this.received - this.#receivedBefore < (elapsedMs / 1000) * perSecond) {
      return true;
    }
    this.#windowFrom = now;
    this.#receivedBefore = this.received;
    return false;
  }

  #add(chunk: Buffer, gathered: GatheredBody): void {
    if (this.#over) {
      // What still arrives is discarded.
      return;
    }
    this.received += chunk.length;
    if (this.received > this.limitBytes) {
      this.#fail({ failure: bodyTooLarge(this.limitBytes) });
      return;
    }
    const refused = gathered.add(chunk);
    if (refused !== undefined) {
      this.#fail({ refusal: refused });
    }
  }

  #end(arrival: Arrival, gathered: GatheredBody): void {
    if (this.#over) {
      return;
    }
    const refusal = arrival.begin();
    if (refusal !== undefined) {
      this.#fail({ refusal });
      return;
    }
    this.#over = true;
    this.done({ body: gathered.take(), reservation: arrival });
  }

  #fail(outcome: BodyOutcome): void {
    if (!this.#over) {
      this.#over = true;
      this.#inflation?.discard();
      this.#request?.resume();
      this.#arrival?.release();
      this.#gathered?.discard();
      this.done(outcome);
    }
  }
}

/**
 * A body that the engine collects. Its capacity doubles as it fills, up to the length that was announced, so that what
 * the engine holds is what was charged, at most twice what has arrived, and grows in few steps however small the chunks
 * are.
 */
export class GatheredBody {
  #body: IncomingBody | undefined;
  #filled = 0;
  #capacity = 0;

  /**
   * `charge` takes bytes from the budget, or says why they cannot be had. The caller adds no more than `limitBytes`.
   * `audited` gets what is added too.
   */
  constructor(
    private readonly engine: Receiver,
    private readonly length: number | undefined,
    private readonly limitBytes: number,
    private readonly charge: (bytes: number) => Refusal | undefined,
    private readonly audited?: Pick<AuditedBody, 'add'>,
  ) {}

  /** Takes a chunk, whose memory may be gone afterwards, or says why the budget has no room for it. */
  add(chunk: Buffer): Refusal | undefined {
    const filled = this.#filled + chunk.length;
    if (filled > this.#capacity) {
      // Most bodies are one chunk.
      const capacity =
        this.#filled === 0 ? filled : Math.max(filled, Math.min(2 * filled, this.length ?? this.limitBytes));
      const refused = this.charge(capacity - this.#capacity);
      if (refused !== undefined) {
        return refused;
      }
      this.#capacity = capacity;
    }
    this.audited?.add(chunk);
    this.#body ??= this.engine.receive();
    this.#body.append(chunk, this.#capacity);
    this.#filled = filled;
    return undefined;
  }

  take(): IncomingBody | undefined {
    return this.#body;
  }

  discard(): void {
    this.#body?.discard();
  }
}
