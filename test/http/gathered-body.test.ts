import { GatheredBody } from '../../src/http/body';
import { FakeEngine } from './fake-engine';

/** A body whose charges a test sees. */
function collect(limitBytes: number, budgetBytes = Infinity) {
  let charged = 0;
  const engine = new FakeEngine();
  const body = new GatheredBody(engine, undefined, limitBytes, (bytes) => {
    if (charged + bytes > budgetBytes) {
      return false;
    }
    charged += bytes;
    return true;
  });
  return { body, engine, charged: () => charged, held: () => engine.bodies[0]?.capacity };
}

describe('a body without a length', () => {
  it('has room for its only chunk', () => {
    const { body, engine, charged, held } = collect(100);
    expect(body.add(Buffer.from('{"a": 1}'))).toBe(true);
    expect(body.take()).toBe(engine.bodies[0]);
    expect(engine.bodies[0]?.bytes.toString()).toBe('{"a": 1}');
    expect([charged(), held()]).toEqual([8, 8]);
  });

  it('is the chunks in their order', () => {
    const { body, engine } = collect(100_000);
    const whole = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 251));
    for (let start = 0; start < whole.length; start += 777) {
      expect(body.add(Buffer.from(whole.subarray(start, start + 777)))).toBe(true);
    }
    expect(engine.bodies).toHaveLength(1);
    expect(engine.bodies[0]?.bytes).toEqual(whole);
  });

  it('doubles its room however small its chunks are, and charges what it has', () => {
    const { body, charged, held } = collect(1 << 20);
    const rooms = new Set<number | undefined>();
    for (let index = 0; index < 10_000; index += 1) {
      expect(body.add(Buffer.from([0x20]))).toBe(true);
      expect(charged()).toBe(held());
      rooms.add(held());
    }
    expect(charged()).toBeLessThanOrEqual(20_000);
    expect(rooms.size).toBeLessThan(20);
  });

  it('never reserves more than the largest body', () => {
    const { body, charged, held } = collect(5000);
    expect(body.add(Buffer.alloc(3000))).toBe(true);
    expect(body.add(Buffer.alloc(2000))).toBe(true);
    expect([charged(), held()]).toEqual([5000, 5000]);
  });

  it('is refused when the budget has no room, also for what it grows by', () => {
    const { body, charged, held } = collect(100_000, 10_000);
    expect(body.add(Buffer.alloc(6000))).toBe(true);
    expect(body.add(Buffer.alloc(3000))).toBe(false);
    expect([charged(), held()]).toEqual([6000, 6000]);
    expect(collect(100, 10).body.add(Buffer.alloc(11))).toBe(false);
  });

  it('is nothing without chunks', () => {
    const { body, engine } = collect(10);
    expect(body.take()).toBeUndefined();
    body.discard();
    expect(engine.bodies).toEqual([]);
  });
});

describe('a body with a length', () => {
  it('has its room at once and is charged no more', () => {
    const engine = new FakeEngine();
    const body = new GatheredBody(engine, 10, 100, () => false);
    expect(body.add(Buffer.from('[1, 2'))).toBe(true);
    expect(engine.bodies[0]?.capacity).toBe(10);
    expect(body.add(Buffer.from(', 34]'))).toBe(true);
    expect(engine.bodies[0]?.bytes.toString()).toBe('[1, 2, 34]');
  });
});
