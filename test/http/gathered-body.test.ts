import { GatheredBody } from '../../src/http/body';
import { refusal } from '../../src/http/refusal';
import { FakeEngine } from './fake-engine';

const FULL = refusal('body_bytes', 'full');

/** A body whose charges a test sees. */
function collect(limitBytes: number, budgetBytes = Infinity, length?: number) {
  let charged = 0;
  const engine = new FakeEngine();
  const body = new GatheredBody(engine, length, limitBytes, (bytes) => {
    if (charged + bytes > budgetBytes) {
      return FULL;
    }
    charged += bytes;
    return undefined;
  });
  return { body, engine, charged: () => charged, held: () => engine.bodies[0]?.capacity };
}

describe('a body without a length', () => {
  it('has room for its only chunk', () => {
    const { body, engine, charged, held } = collect(100);
    expect(body.add(Buffer.from('{"a": 1}'))).toBeUndefined();
    expect(body.take()).toBe(engine.bodies[0]);
    expect(engine.bodies[0]?.bytes.toString()).toBe('{"a": 1}');
    expect([charged(), held()]).toEqual([8, 8]);
  });

  it('is the chunks in their order', () => {
    const { body, engine } = collect(100_000);
    const whole = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 251));
    for (let start = 0; start < whole.length; start += 777) {
      expect(body.add(Buffer.from(whole.subarray(start, start + 777)))).toBeUndefined();
    }
    expect(engine.bodies).toHaveLength(1);
    expect(engine.bodies[0]?.bytes).toEqual(whole);
  });

  it('doubles its room however small its chunks are, and charges what it has', () => {
    const { body, charged, held } = collect(1 << 20);
    const rooms = new Set<number | undefined>();
    for (let index = 0; index < 10_000; index += 1) {
      expect(body.add(Buffer.from([0x20]))).toBeUndefined();
      expect(charged()).toBe(held());
      rooms.add(held());
    }
    expect(charged()).toBeLessThanOrEqual(20_000);
    expect(rooms.size).toBeLessThan(20);
  });

  it('never reserves more than the largest body', () => {
    const { body, charged, held } = collect(5000);
    expect(body.add(Buffer.alloc(3000))).toBeUndefined();
    expect(body.add(Buffer.alloc(2000))).toBeUndefined();
    expect([charged(), held()]).toEqual([5000, 5000]);
  });

  it('is refused when the budget has no room, also for what it grows by', () => {
    const { body, charged, held } = collect(100_000, 10_000);
    expect(body.add(Buffer.alloc(6000))).toBeUndefined();
    expect(body.add(Buffer.alloc(3000))).toBe(FULL);
    expect([charged(), held()]).toEqual([6000, 6000]);
    expect(collect(100, 10).body.add(Buffer.alloc(11))).toBe(FULL);
  });

  it('is nothing without chunks', () => {
    const { body, engine } = collect(10);
    expect(body.take()).toBeUndefined();
    body.discard();
    expect(engine.bodies).toEqual([]);
  });
});

describe('a body with a length', () => {
  it('has room for what has arrived, at most twice as much, and never for more than its length', () => {
    const { body, charged, held } = collect(1 << 20, Infinity, 5000);
    const rooms = [1, 1000, 1000, 2999].map((bytes) => {
      expect(body.add(Buffer.alloc(bytes, 0x20))).toBeUndefined();
      expect(charged()).toBe(held());
      return held();
    });
    expect(rooms).toEqual([1, 2002, 2002, 5000]);
  });
});
