import type { NatsConnection } from '@nats-io/transport-node';

/** Messages of one node to another, or to all, which may be lost. */
export interface Channel {
  send(to: string, bytes: Uint8Array): void;
  /** Returns what ends the reception. */
  receive(at: string, handler: (bytes: Uint8Array) => void): () => void;
}

/** Messages over core NATS, on subjects that no stream has. */
export class NatsChannel implements Channel {
  constructor(
    private readonly connection: NatsConnection,
    private readonly cluster: string,
  ) {}

  send(to: string, bytes: Uint8Array): void {
    if (!this.connection.isClosed()) this.connection.publish(this.#subjectOf(to), bytes);
  }

  receive(at: string, handler: (bytes: Uint8Array) => void): () => void {
    const subscription = this.connection.subscribe(this.#subjectOf(at), {
      callback: (error, message) => {
        if (error === null) handler(message.data);
      },
    });
    return () => {
      subscription.unsubscribe();
    };
  }

  #subjectOf(at: string): string {
    return `kithdb.${this.cluster}.${at}`;
  }
}

/** Where the answers to the writes of a coordinator go. */
export function answersTo(node: string): string {
  return `answers.${node}`;
}

/** Where digests of replicas go. */
export const DIGESTS = 'digests';
/** Where nodes ask others to read checkpoints back. */
export const CHECKPOINTS = 'checkpoints';
/** Where nodes tell what their replicas have of a stream that was lost. */
export const FROZEN = 'frozen';
/** Where it goes that a replica was not given a record. */
export const LACKING = 'lacking';
