import { ArrivingBodies, type ArrivingBody, type HeldBody } from './arriving-bodies';
import { refusal, type Refusal } from './refusal';
import { localMemory, type AdmissionMemory } from './admission-memory';
import { SharedBudget, shareText, type Client, type ShareOf } from './shares';
import { UnreadAnswers, type AnswerAllowance, type Unread, type UnreadLimits } from './unread-answers';

/** Bounds of what the server holds at once for data endpoints. */
export interface AdmissionLimits {
  /** Requests that run. */
  readonly requests: number;
  /** Bodies that have not arrived whole; the slowest makes room for a new one. */
  readonly arrivingBodies: number;
  /** Bytes of bodies that arrive or run. */
  readonly bodyBytes: number;
  readonly answers: UnreadLimits;
}

/** Bounds of a process with the usual memory. */
export const DEFAULT_ADMISSION_LIMITS: AdmissionLimits = {
  requests: 1024,
  arrivingBodies: 1024,
  bodyBytes: 256 * 1024 * 1024,
  answers: { bytes: 256 * 1024 * 1024, stalledMs: 5000, watchIntervalMs: 500 },
};

/** A body up to this size needs no share: one client's large bodies do not keep its small ones out. */
const SMALL_BODY_BYTES = 64 * 1024;

/** What one process holds at once for data endpoints; beyond its bounds a request is a 429. */
export interface Admission {
  readonly requestsInFlight: number;
  readonly arrivingBodies: number;
  readonly bodyBytes: number;
  readonly answerBytes: number;
  /** Admits a request without a body that arrived at `now`, in milliseconds that never go back. */
  run(client: Client, now: number): Reservation | Refusal;
  /**
   * Admits a request whose body begins to arrive; it announces `length` bytes, or none where that is undefined. The body
   * may have to make room for another one at any time until it runs.
   */
  receive(client: Client, now: number, length: number | undefined, body: ArrivingBody): Arrival | Refusal;
  /** What the answer to the next request of `client` may have; undefined while there is no need to ask. */
  answerBudget(client: Client): AnswerAllowance | undefined;
  /** The refusal of an answer that has more than its room. */
  refuseAnswer(room: AnswerAllowance): Refusal;
}

/** What one request holds, until it is released. */
export interface Reservation {
  /** Takes more bytes for a body, or says why it cannot have them; absent for a request without one. */
  grow?(bytes: number): Refusal | undefined;
  /** Holds the bytes of an answer in place of the request and its body. `cut` ends the connection of its client. */
  answer(bytes: number, cut: () => void): Unread;
  /** Gives everything back that is not an answer; a second call does nothing. */
  release(): void;
}

/** What one request holds whose body arrives. */
export interface Arrival extends Reservation {
  /** Takes more bytes for its body, or says why it cannot have them. */
  grow(bytes: number): Refusal | undefined;
  /** The body is whole: takes a place among the requests that run, or says why it cannot have one. */
  begin(): Refusal | undefined;
}

/**
 * Counts requests, bytes of bodies and bytes of answers, each apart from the others. A body is charged for what has
 * arrived of it. When their bytes reach the limit, the body that has held most for longest makes room for the others, so
 * that bodies neither wait for one another nor are held up by one that is never finished.
 */
export class LocalAdmission implements Admission {
  readonly #budgets: Budgets;

  /** @param memory where it counts; several with the same limits and the same memory keep the limits together */
  constructor(limits: AdmissionLimits, memory: AdmissionMemory = localMemory()) {
    this.#budgets = new Budgets(limits, memory);
  }

  get requestsInFlight(): number {
    return this.#budgets.requests.used;
  }

  get arrivingBodies(): number {
    return this.#budgets.arriving.size;
  }

  get bodyBytes(): number {
    return this.#budgets.bodyBytes.used;
  }

  get answerBytes(): number {
    return this.#budgets.answers.bytes;
  }

  run(client: Client, now: number): Reservation | Refusal {
    const budgets = this.#budgets;
    budgets.memory.activity.note(client, now);
    return budgets.takeRequest(client) ?? new LocalReservation(budgets, client);
  }

  receive(client: Client, now: number, length: number | undefined, body: ArrivingBody): Arrival | Refusal {
    const budgets = this.#budgets;
    budgets.memory.activity.note(client, now);
    // What would be refused later is refused before the body has been read.
    const refused = budgets.refuseRequest(client) ?? budgets.refuseLength(length);
    if (refused !== undefined) {
      return refused;
    }
    return new LocalArrival(budgets, client, budgets.arriving.add(client, body, now));
  }

  answerBudget(client: Client): AnswerAllowance | undefined {
    return this.#budgets.answers.allowanceFor(client);
  }

  refuseAnswer(room: AnswerAllowance): Refusal {
    return this.#budgets.answers.refuse(room);
  }
}

/** What is held, by kind. */
class Budgets {
  readonly requests: SharedBudget;
  readonly bodyBytes: SharedBudget;
  readonly answers: UnreadAnswers;
  readonly arriving: ArrivingBodies;

  constructor(
    limits: AdmissionLimits,
    readonly memory: AdmissionMemory,
  ) {
    const { activity } = memory;
    this.requests = new SharedBudget(limits.requests, activity, memory.requests);
    this.bodyBytes = new SharedBudget(limits.bodyBytes, activity, memory.bodyBytes);
    this.answers = new UnreadAnswers(limits.answers, memory);
    this.arriving = new ArrivingBodies(limits.arrivingBodies, memory.arriving);
  }

  refuseRequest(client: Client): Refusal | undefined {
    if (!this.requests.hasRoomFor(1)) {
      return this.#noPlace();
    }
    const share = this.requests.exceededShare(client, 1);
    return share && refusal('request_share', `Too many requests in progress ${shareText(share)}`);
  }

  /** Takes a place among the requests that run, or says why it cannot have one. */
  takeRequest(client: Client): Refusal | undefined {
    return this.refuseRequest(client) ?? (this.requests.take(client, 1) ? undefined : this.#noPlace());
  }

  #noPlace(): Refusal {
    return refusal('requests', `Too many requests in progress: limit ${this.requests.limit}`);
  }

  /** Refuses a body that would find no room even if it had that of all others that arrive. */
  refuseLength(length = 0): Refusal | undefined {
    const running = this.bodyBytes.used - this.arriving.bytes;
    return running + length > this.bodyBytes.limit ? budgetFull() : undefined;
  }

  /** Takes bytes for an arriving body that holds `own`: others make room for them. Or says why it cannot have them. */
  takeBytes(client: Client, body: HeldBody, more: number, own: number): Refusal | undefined {
    const now = performance.now();
    let refused = this.#whyNot(client, more, own);
    while (refused !== undefined) {
      const { shared, why } = refused;
      if (!this.arriving.makeRoomFor(body, more, now, why, shared)) {
        return why;
      }
      refused = this.#whyNot(client, more, own);
    }
    // Another event loop may have taken the room since.
    return this.bodyBytes.take(client, more) ? undefined : budgetFull();
  }

  /** Why `client` cannot have more bytes of bodies, and of which share, where it is one. */
  #whyNot(client: Client, more: number, own: number): { why: Refusal; shared?: ShareOf } | undefined {
    if (!this.bodyBytes.hasRoomFor(more)) {
      return { why: budgetFull() };
    }
    const share =
      own + more <= SMALL_BODY_BYTES ? undefined : this.bodyBytes.exceededShare(client, more, own);
    return (
      share && {
        why: refusal('body_share', `Too many request bytes in progress ${shareText(share, ' bytes')}`),
        shared: share.of,
      }
    );
  }
}

/** The refusal for a full budget of body bytes. */
function budgetFull(): Refusal {
  return refusal('body_bytes', 'Too many request bytes in progress');
}

/** A request that runs. */
class LocalReservation implements Reservation {
  #running = true;

  /** The caller has taken its place. */
  constructor(
    private readonly budgets: Budgets,
    private readonly client: Client,
  ) {}

  answer(bytes: number, cut: () => void): Unread {
    this.release();
    return this.budgets.answers.hold(this.client, bytes, cut);
  }

  release(): void {
    if (this.#running) {
      this.#running = false;
      this.budgets.requests.hold(this.client, -1);
    }
  }
}

/** A request whose body arrives and that runs then. */
class LocalArrival implements Arrival {
  #bytes = 0;
  #open = true;
  #run: LocalReservation | undefined;

  constructor(
    private readonly budgets: Budgets,
    private readonly client: Client,
    private readonly body: HeldBody,
  ) {}

  grow(bytes: number): Refusal | undefined {
    const { budgets, client, body } = this;
    const refused = this.#open ? budgets.takeBytes(client, body, bytes, this.#bytes) : budgetFull();
    if (refused === undefined) {
      this.#bytes += bytes;
      budgets.arriving.grow(body, bytes);
    }
    return refused;
  }

  begin(): Refusal | undefined {
    const { budgets, client } = this;
    const refused = budgets.takeRequest(client);
    if (refused === undefined) {
      budgets.arriving.remove(this.body);
      this.#run = new LocalReservation(budgets, client);
    }
    return refused;
  }

  answer(bytes: number, cut: () => void): Unread {
    this.release();
    return this.budgets.answers.hold(this.client, bytes, cut);
  }

  release(): void {
    if (this.#open) {
      this.#open = false;
      this.budgets.arriving.remove(this.body);
      this.budgets.bodyBytes.hold(this.client, -this.#bytes);
      this.#run?.release();
    }
  }
}
