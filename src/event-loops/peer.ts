import type { Transferable } from 'node:worker_threads';
import { NumberedValues } from '../engine/numbered-values';

/** What one side can be asked: by name, what it takes and what it answers. */
type Asks = Record<string, { readonly takes: unknown; readonly answers: unknown }>;
/** What one side can be notified of, by name, with what comes with it. */
type Notices = Record<string, unknown>;

/** How one side answers what it is asked. */
export type Answers<A extends Asks> = {
  readonly [K in keyof A]: (value: A[K]['takes']) => A[K]['answers'] | Promise<A[K]['answers']>;
};
/** What one side does with each notice. */
export type NoticeHandlers<T extends Notices> = { readonly [K in keyof T]: (value: T[K]) => void };

export type Message =
  | { readonly kind: 'ask'; readonly id: number; readonly name: string; readonly value: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly error: unknown }
  | { readonly kind: 'notice'; readonly name: string; readonly value: unknown };

/** Anything that messages are sent through: a port, or a worker thread. */
export interface Line {
  postMessage(message: unknown, transfer?: readonly Transferable[]): void;
  on(event: 'message', listener: (message: Message) => void): unknown;
}

/** What can be asked of one side of a line, and what it can be notified of. */
interface Side {
  readonly asks: Asks;
  readonly notices: Notices;
}

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The other side of a line between two event loops, of which each asks the other and notifies it. */
export class Peer<Own extends Side, Their extends Side> {
  readonly #asked = new NumberedValues<Asked>();
  #last = 0;
  #gone: Error | undefined;

  /** @param failed is called with an error of a handler, which nobody else reports */
  constructor(
    private readonly line: Line,
    private readonly answers: Answers<Own['asks']>,
    private readonly handlers: NoticeHandlers<Own['notices']>,
    private readonly failed: (error: unknown) => void,
  ) {
    line.on('message', (message) => {
      this.#take(message);
    });
  }

  /** Asks the other side. Rejects with its error, or when it has gone. */
  ask<K extends keyof Their['asks'] & string>(
    name: K,
    value: Their['asks'][K]['takes'],
  ): Promise<Their['asks'][K]['answers']> {
    if (this.#gone !== undefined) {
      return Promise.reject(this.#gone);
    }
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#asked.add(id, { resolve, reject });
      this.#post({ kind: 'ask', id, name, value });
    });
  }

  notify<K extends keyof Their['notices'] & string>(
    name: K,
    value: Their['notices'][K],
    transfer?: readonly Transferable[],
  ): void {
    this.#post({ kind: 'notice', name, value }, transfer);
  }

  /** The other side has gone: what it was asked is not answered any more. */
  end(why: Error): void {
    this.#gone ??= why;
    for (const { reject } of this.#asked.takeAll()) {
      reject(why);
    }
  }

  #post(message: Message, transfer?: readonly Transferable[]): void {
    this.line.postMessage(message, transfer);
  }

  #take(message: Message): void {
    switch (message.kind) {
      case 'notice':
        this.#handle(message.name, message.value);
        break;
      case 'ask':
        this.#answer(message).catch(this.failed);
        break;
      case 'answer':
        this.#settle(message.id)?.resolve(message.value);
        break;
      case 'refusal':
        this.#settle(message.id)?.reject(message.error);
        break;
    }
  }

  #handle(name: string, value: unknown): void {
    const handlers = this.handlers as Readonly<Record<string, ((value: unknown) => void) | undefined>>;
    handlers[name]?.(value);
  }

  async #answer({ id, name, value }: Extract<Message, { kind: 'ask' }>): Promise<void> {
    try {
      this.#post({ kind: 'answer', id, value: await this.answers[name]?.(value) });
    } catch (error) {
      this.#post({ kind: 'refusal', id, error });
    }
  }

  #settle(id: number): Asked | undefined {
    return this.#asked.take(id);
  }
}
