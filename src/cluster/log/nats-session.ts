import type { ConsumeMessages, ConsumerMessages, ConsumerNotification, JsMsg } from '@nats-io/jetstream';
import type { DeliveredMessage, MessageSession } from './message-stream';

/** What ends a session: its consumer may be gone, or messages may have been lost on their way. */
const INTERRUPTIONS: ReadonlySet<ConsumerNotification['type']> = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'consumer_deleted',
  'stream_not_found',
  'no_responders',
  'exceeded_limits',
]);

/**
 * The deliveries of one consumer of JetStream. Such a consumer waits for no acknowledgements and sends nothing twice: the
 * session ends when a message was lost, and whoever reads it begins another one at that message.
 */
export class NatsSession implements MessageSession {
  /** At most so many messages wait in this process. The servers say each second that they are there. */
  static readonly OPTIONS: ConsumeMessages = {
    max_messages: 64,
    expires: 30_000,
    idle_heartbeat: 1000,
    bind: true,
  };

  #isClosed = false;

  constructor(
    readonly messages: ConsumerMessages,
    readonly pending: number,
    readonly read: (message: JsMsg) => DeliveredMessage,
    readonly remove: () => void,
  ) {
    void this.#watch();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<DeliveredMessage> {
    let last = 0;
    for await (const message of this.messages) {
      const { deliverySequence } = message.info;
      if (deliverySequence !== last + 1) return;
      last = deliverySequence;
      yield this.read(message);
    }
  }

  async #watch(): Promise<void> {
    for await (const notification of this.messages.status()) {
      const isLost =
        notification.type === 'heartbeat' &&
        notification.lastConsumerSequence !== this.messages.getReceived();
      if (isLost || INTERRUPTIONS.has(notification.type)) this.close();
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.messages.close();
    this.remove();
  }
}
