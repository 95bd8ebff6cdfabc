import { LinkedList, type Entry } from './linked-list';
import type { Client } from './shares';

/**
 * Requests that may be new at a time while there are several clients: the next one of another client waits for so many at
 * most. One client alone has no limit: a request that waits here costs more than one that waits in the engine.
 */
const NEW_OF_SEVERAL = 4;
/** A request is new until it has run for this long. One that takes longer waits for the engine or the disk. */
const NEW_MS = 2;
/** There are several clients for this long after a request of one followed that of another. */
const SEVERAL_MS = 1000;
/** Requests that wait at most. Further ones start at once, and the budgets refuse them. */
const MAX_WAITING = 4096;

/** What waits for its start. */
export interface Startable {
  /** Starts the request. Called once, unless its client disconnects first. */
  start(): void;
  /** Calls back when the request is answered or its client has disconnected. */
  whenOver(callback: () => void): void;
}

/** The requests of one client, as long as it has new or waiting ones. */
class Line {
  newOnes = 0;
  readonly waiting = new LinkedList<Startable>();
}

/** The request of a line that starts next. */
interface Waiting {
  readonly client: string;
  readonly line: Line;
  readonly request: Entry<Startable>;
}

/** A request that has started. */
interface Started {
  readonly line: Line;
  readonly client: string;
  readonly at: number;
  isNew: boolean;
}

/** The credential, or the network where there is none. */
function nameOf({ network, credential }: Client): string {
  return credential ?? network;
}

/**
 * Decides when requests start that the event loop has read, so that a client with hundreds of connections does not make
 * another one wait for all of them: fair queueing, with one line for each client and a limit on new requests. A client
 * without a new request never waits. A client is its credential, or its network where there is none.
 *
 * Without it each round of the event loop would take up a request from every connection that has one, and the answer to
 * any of them would wait for the whole round, twice.
 */
export class StartQueue {
  readonly #lines = new Map<string, Line>();
  /** In the order of their starts; those before `#first` are not new any more. */
  #started: Started[] = [];
  #first = 0;
  #newOnes = 0;
  #waiting = 0;
  #severalUntil = 0;
  #lastClient: string | undefined;
  #lastAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly clock: () => number = () => performance.now()) {}

  /** Requests that wait for their start. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Notes a request. True when its client is the only one of the last second: then the caller starts it at once, and does
   * not give it to {@link add}.
   */
  noteAlone(of: Client): boolean {
    const now = this.clock();
    const client = nameOf(of);
    if (client !== this.#lastClient) {
      if (now - this.#lastAt < SEVERAL_MS) {
        this.#severalUntil = now + SEVERAL_MS;
      }
      this.#lastClient = client;
    }
    this.#lastAt = now;
    return now >= this.#severalUntil && this.#waiting === 0;
  }

  /** Starts a request, now or later. */
  add(of: Client, request: Startable): void {
    const now = this.clock();
    this.#age(now);
    const client = nameOf(of);
    const line = this.#lineOf(client);
    const mustWait = line.waiting.size > 0 || (line.newOnes > 0 && this.#newOnes >= this.#limit(now));
    if (!mustWait || this.#waiting >= MAX_WAITING) {
      this.#start(client, line, request, now);
      return;
    }
    const entry = line.waiting.add(request);
    this.#waiting += 1;
    this.#timer ??= setInterval(() => {
      this.#pump();
    }, NEW_MS);
    // The callback may come at once.
    request.whenOver(() => {
      this.#forget(line, entry);
      this.#dropIfEmpty(client, line);
    });
  }

  #limit(now: number): number {
    return now < this.#severalUntil ? NEW_OF_SEVERAL : Infinity;
  }

  #lineOf(client: string): Line {
    let line = this.#lines.get(client);
    if (line === undefined) {
      line = new Line();
      this.#lines.set(client, line);
    }
    return line;
  }

  #start(client: string, line: Line, request: Startable, now: number): void {
    const started: Started = { line, client, at: now, isNew: true };
    line.newOnes += 1;
    this.#newOnes += 1;
    this.#started.push(started);
    request.whenOver(() => {
      this.#endNew(started);
      if (this.#waiting > 0) {
        this.#pump();
      }
    });
    request.start();
  }

  /** Starts what there is room for, each time of the client that has fewest new requests. */
  #pump(): void {
    const now = this.clock();
    this.#age(now);
    for (let next = this.#next(now); next !== undefined; next = this.#next(now)) {
      const { client, line, request } = next;
      this.#forget(line, request);
      this.#start(client, line, request.value, now);
    }
  }

  #next(now: number): Waiting | undefined {
    let next: Waiting | undefined;
    for (const [client, line] of this.#lines) {
      const request = line.waiting.first;
      if (request !== undefined && line.newOnes < (next?.line.newOnes ?? Infinity)) {
        next = { client, line, request };
      }
    }
    const hasRoom = next?.line.newOnes === 0 || this.#newOnes < this.#limit(now);
    return hasRoom ? next : undefined;
  }

  #forget(line: Line, request: Entry<Startable>): void {
    if (line.waiting.remove(request)) {
      this.#waiting -= 1;
      if (this.#waiting === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #endNew(started: Started): void {
    if (started.isNew) {
      const { line, client } = started;
      started.isNew = false;
      line.newOnes -= 1;
      this.#newOnes -= 1;
      this.#dropIfEmpty(client, line);
    }
  }

  #dropIfEmpty(client: string, line: Line): void {
    // The client may have another line since this one was dropped.
    if (line.newOnes === 0 && line.waiting.size === 0 && this.#lines.get(client) === line) {
      this.#lines.delete(client);
    }
  }

  /** Those that have run for long are not new any more. */
  #age(now: number): void {
    let oldest = this.#started[this.#first];
    while (oldest !== undefined && (!oldest.isNew || now - oldest.at >= NEW_MS)) {
      this.#endNew(oldest);
      this.#first += 1;
      oldest = this.#started[this.#first];
    }
    if (this.#first > 256 && this.#first * 2 > this.#started.length) {
      this.#started = this.#started.slice(this.#first);
      this.#first = 0;
    }
  }
}
