/** Log servers in memory: streams that all nodes of a test share, with faults as a network and servers have them. */
import {
  NoAcknowledgement,
  NoSuchStream,
  NotDelivered,
  SequenceConflict,
  type DeliveredMessage,
  type MessageSession,
  type MessageStream,
  type NewMessage,
  type StreamMessage,
} from '../../src/cluster/log/message-stream';
import {
  StreamMissingError,
  type LogServers,
  type NewMap,
  type NewStream,
  type RecordLog,
  type StreamOrigin,
  type StreamState,
} from '../../src/cluster/log/record-log';
import { StreamLog } from '../../src/cluster/log/stream-log';
import { sleep } from '../until';

/** Shares are between 0 and 1. */
export interface Faults {
  /** Of messages that never arrive. */
  lostMessages: number;
  /** Of messages that are stored, of which the publisher hears nothing. */
  lostAcknowledgements: number;
  /** Of messages that arrive twice. */
  duplicates: number;
  /** Of deliveries after which a session ends. */
  interruptions: number;
  longestDelayMs: number;
  /** Whether no server answers. */
  isDown: boolean;
  /** Whether questions stay without an answer for ever. */
  isSilent: boolean;
  random: () => number;
}

const NO_FAULTS: Faults = {
  lostMessages: 0,
  lostAcknowledgements: 0,
  duplicates: 0,
  interruptions: 0,
  longestDelayMs: 0,
  isDown: false,
  isSilent: false,
  random: Math.random,
};

export class MemoryStream implements MessageStream {
  messages: StreamMessage[] = [];
  created = '2026-01-01T00:00:00Z';
  lastSequence = 0;
  /** How often all sessions were ended. */
  interruptions = 0;
  ids = new Map<string, number>();
  readonly #wake = new Set<() => void>();
  /** Whether the servers have lost it. */
  isMissing = false;
  /** How many questions have had no answer because the servers are silent. */
  unanswered = 0;
  /** The servers' clock. */
  nowMs = 0;

  constructor(
    readonly name: string,
    readonly faults: Faults,
    /** The sequence of its first message. */
    public begins = 1,
  ) {
    this.lastSequence = begins - 1;
  }

  /** Forgets the messages from a sequence on, as a server does that was given an older copy of its files. */
  goBackTo(lastSequence: number): void {
    this.messages = this.messages.filter(({ sequence }) => sequence <= lastSequence);
    this.ids = new Map([...this.ids].filter(([, sequence]) => sequence <= lastSequence));
    this.lastSequence = lastSequence;
    this.interrupt();
  }

  /** Makes it another stream of the same name, without a message. */
  beginAnew(begins: number): void {
    this.begins = begins;
    this.lastSequence = begins - 1;
    this.messages = [];
    this.ids = new Map();
    this.created = `${this.created}, and again`;
    this.interrupt();
  }

  async send(message: NewMessage): Promise<{ sequence: number; isDuplicate: boolean }> {
    await this.#answerable();
    const { lostMessages, lostAcknowledgements, duplicates } = this.faults;
    if (this.#happens(lostMessages)) throw new NoAcknowledgement('the message was lost');
    const stored = this.#store(message);
    if (this.#happens(duplicates)) this.#store(message);
    if (this.#happens(lostAcknowledgements)) throw new NoAcknowledgement('the acknowledgement was lost');
    return stored;
  }

  /** As a server that is alone: it compares the sequence before it looks for the id. */
  #store({ lastSequence, ...message }: NewMessage): { sequence: number; isDuplicate: boolean } {
    const isExpected = lastSequence === undefined || lastSequence === this.lastSequence;
    if (!isExpected)
      throw new SequenceConflict(`the last sequence is ${this.lastSequence}, not ${lastSequence}`);
    const known = this.ids.get(message.id);
    if (known !== undefined) return { sequence: known, isDuplicate: true };
    this.lastSequence += 1;
    const sequence = this.lastSequence;
    this.ids.set(message.id, sequence);
    this.messages.push({
      ...message,
      payload: Uint8Array.from(message.payload),
      sequence,
      storedAtMs: this.nowMs,
    });
    this.wake();
    return { sequence, isDuplicate: false };
  }

  /** A message that nobody of the cluster published. */
  storeForeign(subject: string, payload: Uint8Array): void {
    this.#store({ id: `foreign-${this.lastSequence}`, subject, headers: {}, payload });
  }

  /** Ends all sessions. */
  interrupt(): void {
    this.interruptions += 1;
    this.wake();
  }

  wake(): void {
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }

  async open(fromSequence: number, subjects: readonly string[]): Promise<MessageSession> {
    await this.#answerable();
    const matches = ({ subject }: StreamMessage): boolean => subjects.some((one) => isOf(subject, one));
    const after = (sequence: number): StreamMessage[] =>
      this.messages.filter((message) => message.sequence > sequence && matches(message));
    const { interruptions } = this;
    let isClosed = false;
    const isOver = (): boolean => isClosed || interruptions !== this.interruptions;
    const deliver = (sequence: number): Promise<DeliveredMessage | undefined> =>
      this.#next(() => after(sequence), isOver);
    return {
      pending: after(fromSequence - 1).length,
      close: () => {
        isClosed = true;
        this.wake();
      },
      async *[Symbol.asyncIterator]() {
        for (let sequence = fromSequence - 1; ;) {
          const message = await deliver(sequence);
          if (message === undefined) return;
          sequence = message.sequence;
          yield message;
        }
      },
    };
  }

  /** The first of what follows, once there is something; undefined where the session ends. */
  async #next(
    following: () => StreamMessage[],
    isOver: () => boolean,
  ): Promise<DeliveredMessage | undefined> {
    for (;;) {
      if (isOver() || this.#happens(this.faults.interruptions)) return undefined;
      const [message, ...others] = following();
      if (message !== undefined) return { ...message, pending: others.length };
      await new Promise<void>((resolve) => this.#wake.add(resolve));
    }
  }

  async message(sequence: number): Promise<StreamMessage | undefined> {
    await this.#answerable();
    return this.messages.find((message) => message.sequence === sequence);
  }

  async state(): Promise<StreamState> {
    await this.#answerable();
    const { lastSequence, created, messages, nowMs: atMs } = this;
    return { firstSequence: messages[0]?.sequence ?? lastSequence + 1, lastSequence, created, atMs };
  }

  async lastOf(subject: string): Promise<StreamMessage | undefined> {
    await this.#answerable();
    return this.messages.findLast((message) => message.subject === subject);
  }

  async removeBelow(sequence: number): Promise<void> {
    await this.#answerable();
    this.messages = this.messages.filter((message) => message.sequence >= sequence);
  }

  async #answerable(): Promise<void> {
    const { longestDelayMs, random, isDown, isSilent } = this.faults;
    if (isSilent) {
      this.unanswered += 1;
      await new Promise(() => undefined);
    }
    if (longestDelayMs > 0) await sleep(random() * longestDelayMs);
    if (isDown) throw new NotDelivered('no server is there');
    if (this.isMissing) throw new NoSuchStream('there is no such stream');
  }

  #happens(share: number): boolean {
    return share > 0 && this.faults.random() < share;
  }
}

/** Whether a subject matches a pattern of tokens. */
function isOf(subject: string, pattern: string): boolean {
  const tokens = subject.split('.');
  const wanted = pattern.split('.');
  if (wanted.at(-1) === '>') return tokens.length >= wanted.length && startsWith(tokens, wanted.slice(0, -1));
  return tokens.length === wanted.length && startsWith(tokens, wanted);
}

function startsWith(tokens: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((token, at) => token === '*' || token === tokens[at]);
}

/** The streams of a cluster; each node of a test may use the same one. */
export class MemoryLogService implements LogServers {
  readonly faults: Faults;
  readonly mapStream: MemoryStream;
  readonly authStream: MemoryStream;
  /** Of the first epoch. */
  readonly groupStreams: readonly MemoryStream[];
  /** Of all epochs that were made or asked for, by name. */
  readonly streams = new Map<string, MemoryStream>();
  readonly map: RecordLog;
  readonly auth: RecordLog;

  constructor(
    readonly cluster = 'test',
    readonly groups = 2,
    faults: Partial<Faults> = {},
  ) {
    this.faults = { ...NO_FAULTS, ...faults };
    this.mapStream = new MemoryStream(`KITHDB_${cluster}_map`, this.faults);
    this.authStream = new MemoryStream(`KITHDB_${cluster}_auth`, this.faults);
    this.groupStreams = Array.from({ length: groups }, (_, group) => this.streamOf(group, 0));
    this.map = new StreamLog(this.mapStream);
    this.auth = new StreamLog(this.authStream);
  }

  /** The stream of a group in an epoch; one of a later epoch is missing until it is made. */
  streamOf(group: number, epoch: number, begins = 1): MemoryStream {
    const name = `KITHDB_${this.cluster}_${group}_e${epoch}`;
    const stream = this.streams.get(name) ?? new MemoryStream(name, this.faults, begins);
    this.streams.set(name, stream);
    return stream;
  }

  /** One that is made in the place of a stream that was removed is another one. */
  makeMap({ isNew, firstSequence }: NewMap): Promise<StreamOrigin> {
    const { isMissing, name } = this.mapStream;
    if (isMissing && !isNew) return Promise.reject(new StreamMissingError(name));
    if (isMissing && firstSequence > 1) this.mapStream.beginAnew(firstSequence);
    this.mapStream.isMissing = false;
    const { created, begins } = this.mapStream;
    return Promise.resolve({ created, firstSequence: begins });
  }

  removeMap(): Promise<void> {
    this.mapStream.isMissing = true;
    return Promise.resolve();
  }

  makeAuth(): Promise<void> {
    return Promise.resolve();
  }

  makeGroup(group: number, { epoch, firstSequence }: NewStream): Promise<StreamOrigin> {
    const { created, begins } = this.streamOf(group, epoch, firstSequence);
    return Promise.resolve({ created, firstSequence: begins });
  }

  group(group: number, epoch = 0): RecordLog {
    if (group < 0 || group >= this.groups) throw new RangeError(`there is no group ${group}`);
    return new StreamLog(this.streamOf(group, epoch));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
