import { ChunkedBody } from '../../src/http/body';

/** A body whose charges a test sees. */
function collect(limitBytes: number, budgetBytes = Infinity): { body: ChunkedBody; charged: () => number } {
  let charged = 0;
  const body = new ChunkedBody(limitBytes, (bytes) => {
    if (charged + bytes > budgetBytes) {
      return false;
    }
    charged += bytes;
    return true;
  });
  return { body, charged: () => charged };
}

describe('a body without a length', () => {
  it('is the only chunk itself, without a copy', () => {
    const { body, charged } = collect(100);
    const chunk = Buffer.from('{"a": 1}');
    expect(body.add(chunk)).toBe(true);
    expect(body.take()).toBe(chunk);
    expect(charged()).toBe(chunk.length);
  });

  it('is the chunks in their order', () => {
    const { body } = collect(100_000);
    const whole = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 251));
    for (let start = 0; start < whole.length; start += 777) {
      expect(body.add(whole.subarray(start, start + 777))).toBe(true);
    }
    expect(body.take()).toEqual(whole);
  });

  it('keeps one buffer however small its chunks are, and charges what that holds', () => {
    const { body, charged } = collect(1 << 20);
    for (let index = 0; index < 100_000; index += 1) {
      expect(body.add(Buffer.from([0x20]))).toBe(true);
    }
    const taken = body.take();
    expect(taken).toHaveLength(100_000);
    expect(taken.buffer.byteLength).toBeLessThanOrEqual(200_000);
    expect(charged()).toBe(taken.buffer.byteLength);
  });

  it('never reserves more than the largest body', () => {
    const { body, charged } = collect(5000);
    expect(body.add(Buffer.alloc(3000))).toBe(true);
    expect(body.add(Buffer.alloc(2000))).toBe(true);
    expect(body.take()).toHaveLength(5000);
    expect(charged()).toBe(5000);
  });

  it('is refused when the budget has no room, also for what it grows by', () => {
    const { body, charged } = collect(100_000, 10_000);
    expect(body.add(Buffer.alloc(6000))).toBe(true);
    expect(body.add(Buffer.alloc(3000))).toBe(false);
    expect(charged()).toBe(6000);
    expect(collect(100, 10).body.add(Buffer.alloc(11))).toBe(false);
  });

  it('is empty without chunks', () => {
    expect(collect(10).body.take()).toHaveLength(0);
  });
});
