/** Records for tests of logs. */
import type { LogRecord, NewRecord, ReadRequest, RecordLog } from '../../src/cluster/log/record-log';
import { until } from '../until';

export function recordOf(operation: string, payload: string | Uint8Array = operation): NewRecord {
  return { operation, epoch: 1, kind: 'test', payload: Buffer.from(payload) };
}

/** A read of a log in the background, with what it has read. */
export class Reader {
  readonly records: LogRecord[] = [];
  readonly #stop = new AbortController();
  readonly ended: Promise<void>;
  failure: unknown;

  constructor(
    log: RecordLog,
    request: Partial<ReadRequest> = {},
    handle?: (record: LogRecord) => Promise<void>,
  ) {
    const whole = { fromSequence: 1, subjects: ['>'], signal: this.#stop.signal, ...request };
    this.ended = log
      .read(whole, async (record) => {
        await handle?.(record);
        this.records.push(record);
      })
      .catch((error: unknown) => {
        this.failure = error;
      });
  }

  get operations(): string[] {
    return this.records.map(({ operation }) => operation);
  }

  async untilRead(count: number): Promise<void> {
    await until(
      () => this.records.length >= count || this.failure !== undefined,
      5,
      () => this.records.length,
    );
    if (this.failure !== undefined) throw this.failure as Error;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.ended;
    if (this.failure !== undefined) throw this.failure as Error;
  }
}
