/** Clients that write and read one collection through all nodes, and what they did and saw. */
import { randomUUID } from 'node:crypto';
import { sleep } from '../../until';
import { ask, type Answer } from './api';
import type { Read, Seen, Write } from './history';

/** Numbers of operations for each position (docs/cluster.md, _Operation numbers_). */
const NUMBERS = 2 ** 20;
const WRITERS = 4;
const READERS = 2;
/** How long a call may take; a client asks another node after it. */
const CALL_SECONDS = 8;
/** A write is repeated with its operation id for so long. */
const WRITE_MS = 60_000;
const HOT_POINTS = 40;
/** Points that are only inserted and deleted begin here; the others are never deleted. */
const DELETABLE = 1_000_000;
/** A write of which some calls end in the air is given up by its client this often. */
const GIVES_UP = 0.1;

/** The write of a consistency token. */
interface Token {
  readonly text: string;
  readonly position: number;
  readonly points: readonly number[];
}

/** What a client knows of a write that is to be made. */
interface Plan {
  readonly points: readonly number[];
  readonly kind: 'upsert' | 'payload' | 'delete';
}

/** What was done until now. */
export interface Counts {
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
  readonly reads: number;
  readonly failedReads: number;
  /** The longest times in which no write was acknowledged, and no read answered. */
  readonly writePauseMs: number;
  readonly readPauseMs: number;
}

/** The longest time between two of some moments. */
class Pauses {
  #last = performance.now();
  #longest = 0;

  note(): void {
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - this.#last);
    this.#last = now;
  }

  get longest(): number {
    return this.#longest;
  }
}

export class Load {
  readonly writes: Write[] = [];
  readonly reads: Read[] = [];
  #failedReads = 0;
  #isOver = false;
  #value = 0;
  #nextPoint = HOT_POINTS;
  #nextDeletable = DELETABLE;
  #acknowledged = 0;
  #underWay = 0;
  #tokens: Token[] = [];
  /** Deletable points that were acknowledged. */
  readonly #deletable: number[] = [];
  readonly #writePauses = new Pauses();
  readonly #readPauses = new Pauses();
  #running: Promise<unknown> = Promise.resolve();

  /**
   * @param urls of the nodes
   * @param random decides what is written
   */
  constructor(
    readonly collection: string,
    private readonly urls: () => readonly string[],
    private readonly random: () => number,
    private readonly options: { readonly givesUp: boolean },
  ) {}

  /** Writes the points that are changed again and again, and starts the clients. */
  async start(): Promise<void> {
    await this.write({ points: Array.from({ length: HOT_POINTS }, (_, point) => point), kind: 'upsert' });
    this.#running = Promise.all([
      ...Array.from({ length: WRITERS }, (_, client) => this.#keepWriting(client)),
      ...Array.from({ length: READERS }, (_, client) => this.#keepReading(client)),
    ]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** Writes that wait for an answer. */
  get underWay(): number {
    return this.#underWay;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  counts(): Counts {
    const of = (outcome: Write['outcome']): number =>
      this.writes.filter((write) => write.outcome === outcome).length;
    return {
      acknowledged: of('acknowledged'),
      unknown: of('unknown'),
      refused: of('refused'),
      reads: this.reads.length,
      failedReads: this.#failedReads,
      writePauseMs: Math.round(this.#writePauses.longest),
      readPauseMs: Math.round(this.#readPauses.longest),
    };
  }

  async #keepWriting(client: number): Promise<void> {
    while (!this.#isOver) {
      await this.write(this.#plan(), client);
      await sleep(this.random() * 10);
    }
  }

  #plan(): Plan {
    const chance = this.random();
    if (chance < 0.45) return { kind: 'upsert', points: this.#fresh() };
    if (chance < 0.6) return { kind: 'upsert', points: this.#hot() };
    if (chance < 0.8) return { kind: 'payload', points: this.#hot() };
    if (chance < 0.9 || this.#deletable.length === 0)
      return { kind: 'upsert', points: [this.#nextDeletable++] };
    return { kind: 'delete', points: this.#deletable.splice(0, 1 + Math.floor(this.random() * 3)) };
  }

  #fresh(): number[] {
    return Array.from({ length: 1 + Math.floor(this.random() * 4) }, () => this.#nextPoint++);
  }

  #hot(): number[] {
    const first = Math.floor(this.random() * HOT_POINTS);
    return this.random() < 0.3 ? [first, (first + 7) % HOT_POINTS] : [first];
  }

  /** Makes one write, and repeats it at other nodes until its outcome is known, or it is given up. */
  async write({ points, kind }: Plan, client = 0): Promise<Token | undefined> {
    const value = kind === 'delete' ? undefined : `v${(this.#value += 1)}`;
    const operation = randomUUID();
    const startMs = performance.now();
    const positions: number[] = [];
    let [endMs, outcome, token]: [number?, Write['outcome']?, Token?] = [];
    this.#underWay += 1;
    for (let call = 0; outcome === undefined; call += 1) {
      const answer = await ask(
        this.#url(client + call),
        callOf(this.collection, { points, kind }, value, operation),
      );
      const position = positionOf(answer);
      if (position !== undefined) {
        positions.push(position);
        // Now and then a client asks again although it has its answer.
        if (positions.length === 1) endMs = performance.now();
        if (positions.length === 1 && this.random() < 0.05) continue;
      }
      if (positions.length > 0) {
        outcome = 'acknowledged';
        token = tokenOf(answer, positions[0]!, points);
      } else if (isRefusal(answer)) outcome = call === 0 ? 'refused' : 'unknown';
      else if (performance.now() - startMs > WRITE_MS || this.#givesUp()) outcome = 'unknown';
      else await sleep(50 + this.random() * 200);
    }
    this.#underWay -= 1;
    this.writes.push({
      operation,
      points,
      value,
      startMs,
      outcome,
      positions,
      ...(endMs !== undefined && { endMs }),
    });
    if (outcome === 'acknowledged') this.#noteAcknowledged({ points, kind }, token);
    return token;
  }

  #givesUp(): boolean {
    return this.options.givesUp && this.random() < GIVES_UP;
  }

  #noteAcknowledged({ points, kind }: Plan, token: Token | undefined): void {
    this.#acknowledged += 1;
    this.#writePauses.note();
    if (kind === 'upsert') this.#deletable.push(...points.filter((point) => point >= DELETABLE));
    if (token !== undefined) this.#tokens = [...this.#tokens.slice(-50), token];
  }

  async #keepReading(client: number): Promise<void> {
    while (!this.#isOver) {
      const token = this.random() < 0.8 ? this.#tokens.at(-1 - Math.floor(this.random() * 10)) : undefined;
      const points = token?.points ?? this.#hot();
      if (await this.read(points, token, client)) this.#readPauses.note();
      else this.#failedReads += 1;
      await sleep(this.random() * 20);
    }
  }

  /** Reads points of one node; false where it does not answer. */
  async read(points: readonly number[], token: Token | undefined, client = 0): Promise<boolean> {
    const startMs = performance.now();
    const seen = await pointsOf(this.#url(client), this.collection, points, token?.text);
    if (seen === undefined) return false;
    const endMs = performance.now();
    this.reads.push({ startMs, endMs, seen, ...(token !== undefined && { after: token.position }) });
    return true;
  }

  #url(number: number): string {
    const urls = this.urls();
    return urls[(number + Math.floor(this.random() * 2)) % urls.length]!;
  }
}

/** Points as a node finds them; undefined where it does not answer. */
export async function pointsOf(
  url: string,
  collection: string,
  points: readonly number[],
  token?: string,
): Promise<Seen[] | undefined> {
  const { status, body } = await ask(url, {
    method: 'POST',
    path: `/collections/${collection}/points/query?timeout=${CALL_SECONDS}`,
    body: { filter: { must: [{ has_id: points }] }, limit: points.length, with_payload: true },
    ...(token !== undefined && { headers: { 'kithdb-position': token } }),
    timeoutMs: 2000 * CALL_SECONDS,
  });
  if (status !== 200) return undefined;
  const { result } = body as { readonly result: { readonly points: readonly Hit[] } };
  const hits = new Map(result.points.map((hit) => [hit.id, hit]));
  return points.map((point) => {
    const hit = hits.get(point);
    if (hit === undefined) return { point, value: undefined, position: undefined };
    return { point, value: hit.payload?.v ?? 'nothing', position: Math.floor(hit.version / NUMBERS) };
  });
}

interface Hit {
  readonly id: number;
  readonly version: number;
  readonly payload?: { readonly v?: string };
}

function callOf(
  collection: string,
  { points, kind }: Plan,
  value: string | undefined,
  operation: string,
): Parameters<typeof ask>[1] {
  const [method, path, body] = {
    upsert: [
      'PUT',
      '',
      { points: points.map((id) => ({ id, vector: vectorOf(id), payload: { v: value } })) },
    ],
    payload: ['POST', '/payload', { points, payload: { v: value } }],
    delete: ['POST', '/delete', { points }],
  }[kind] as [string, string, object];
  return {
    ...{ method, body, timeoutMs: 2000 * CALL_SECONDS },
    path: `/collections/${collection}/points${path}?wait=true&timeout=${CALL_SECONDS}`,
    headers: { 'idempotency-key': operation },
  };
}

function vectorOf(id: number): number[] {
  return [Math.sin(id), Math.cos(id), Math.sin(2 * id), Math.cos(3 * id)];
}

/** The position of a write that an answer acknowledges. */
function positionOf({ status, body }: Answer): number | undefined {
  if (status !== 200) return undefined;
  const { result } = body as { readonly result: { readonly operation_id: number } };
  return Math.floor(result.operation_id / NUMBERS);
}

function tokenOf({ token }: Answer, position: number, points: readonly number[]): Token | undefined {
  return token === undefined ? undefined : { text: token, position, points };
}

/** Whether an answer says that nothing was done: of the errors only those that are about the request itself. */
function isRefusal({ status = 0 }: Answer): boolean {
  return status >= 400 && status < 500 && ![408, 412, 429].includes(status);
}
