import { inModule } from './module';

/** Requests each 100 ms from 0 on, which take 10 ms; `changed` says of some what is different. */
function measured(
  what: string,
  count: number,
  changed: Readonly<Record<number, { readonly took?: number; readonly status?: number }>> = {},
): unknown {
  const samples = Array.from({ length: count }, (_, at) => {
    const { took = 10, status = 200 } = changed[at] ?? {};
    return { dueAt: 100 * at, answeredAt: 100 * at + took, status };
  });
  return inModule('cluster/timeline.mjs', `const samples = ${JSON.stringify(samples)}; return ${what};`);
}

describe('what a series of requests shows of an interruption', () => {
  test('is the latency of each interval, by the moment at which requests were due', () => {
    expect(
      measured('m.timeline(samples, 250, 250)', 6, {
        2: { took: 500 },
        4: { status: 503 },
        5: { status: 0 },
      }),
    ).toEqual([
      { ms: -250, count: 3, failed: 0, p50Ms: 10, maxMs: 500 },
      { ms: 0, count: 2, failed: 1, p50Ms: 10, maxMs: 10 },
      { ms: 250, count: 1, failed: 1, p50Ms: null, maxMs: null },
    ]);
  });

  test('is for how long requests failed, also to the end', () => {
    expect(measured('m.failedMs(samples)', 6)).toBe(0);
    expect(
      measured('m.failedMs(samples)', 9, { 1: { status: 503 }, 2: { status: 0 }, 6: { status: 503 } }),
    ).toBe(300);
    expect(measured('m.failedMs(samples)', 4, { 3: { status: 0, took: 1000 } })).toBe(1000);
    expect(
      measured('m.failures(samples)', 4, { 1: { status: 503 }, 2: { status: 503 }, 3: { status: 0 } }),
    ).toEqual({
      0: 1,
      503: 2,
    });
  });

  test('is the slowest of the requests that succeeded', () => {
    const slow = { 1: { took: 700 }, 2: { took: 9000, status: 503 }, 3: { took: 8000, status: 0 } };
    expect(measured('m.slowestMs(samples)', 5, slow)).toBe(700);
    expect(measured('m.slowestMs(samples)', 1, { 0: { status: 0 } })).toBeNull();
  });

  test('is the longest time without an answer, from the interruption on', () => {
    const pause = (count: number, changed = {}): unknown =>
      measured('m.longestPauseMs(samples, 250)', count, changed);
    expect(pause(6)).toBe(100);
    // The last answer before it was at 210.
    expect(pause(6, { 3: { took: 2010 }, 4: { took: 1910 }, 5: { took: 1810 } })).toBe(2100);
    expect(pause(6, { 3: { status: 503 }, 4: { status: 503 }, 5: { status: 503 } })).toBe(290);
    // Nothing was due any more when it failed.
    expect(pause(5, { 3: { status: 503, took: 60_000 } })).toBe(200);
    expect(pause(3, { 0: { took: 240 } })).toBe(10);
  });
});
