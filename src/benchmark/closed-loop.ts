/** What requests of a closed loop took. */
export interface Timing {
  readonly requests: number;
  /** From the first request to the end of the last one. */
  readonly seconds: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
}

/** A closed loop: each client sends its next request when it has the answer to the last one. */
export interface Loop {
  readonly clients: number;
  /** Sends the request of this number; the first one is 0. */
  readonly send: (number: number) => Promise<unknown>;
  /** Whether the request of this number is sent; a client that gets false ends. */
  readonly goesOn: (number: number) => boolean;
  /** Ends the loop; it rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Runs a closed loop until all clients have ended. It rejects with the first failure of a request. */
export async function closedLoop({ clients, send, goesOn, signal }: Loop): Promise<Timing> {
  const times: number[] = [];
  const started = performance.now();
  let next = 0;
  let failed = false;
  const client = async (): Promise<void> => {
    while (!failed && goesOn(next)) {
      signal.throwIfAborted();
      const number = next++;
      const from = performance.now();
      await send(number).catch((error: unknown) => {
        failed = true;
        throw error;
      });
      times.push(performance.now() - from);
    }
  };
  // All of them end before the failure is passed on: no request is under way afterwards.
  const outcomes = await Promise.allSettled(Array.from({ length: clients }, client));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  const seconds = (performance.now() - started) / 1000;
  return timingOf(times, seconds);
}

/** The figures of the times of requests, in milliseconds. */
export function timingOf(times: readonly number[], seconds: number): Timing {
  const sorted = [...times].sort((a, b) => a - b);
  return {
    requests: sorted.length,
    seconds,
    per_second: sorted.length / Math.max(seconds, 1e-9),
    p50_ms: percentile(sorted, 0.5),
    p95_ms: percentile(sorted, 0.95),
    p99_ms: percentile(sorted, 0.99),
  };
}

/** The value that so many of all do not exceed (nearest rank); 0 of none. */
function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}
