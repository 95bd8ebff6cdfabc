import type { NatsConnection } from '@nats-io/transport-node';
import type { HeartbeatChannel } from './heartbeats';

/** Heartbeats over core NATS, on a subject that no stream has. */
export class NatsHeartbeats implements HeartbeatChannel {
  readonly #subject: string;

  constructor(
    readonly connection: NatsConnection,
    cluster: string,
  ) {
    this.#subject = `kithdb.${cluster}.heartbeat`;
  }

  send(bytes: Uint8Array): void {
    if (!this.connection.isClosed()) this.connection.publish(this.#subject, bytes);
  }

  receive(handler: (bytes: Uint8Array) => void): () => void {
    const subscription = this.connection.subscribe(this.#subject, {
      callback: (error, message) => {
        if (error === null) handler(message.data);
      },
    });
    return () => {
      subscription.unsubscribe();
    };
  }
}
