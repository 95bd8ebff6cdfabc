import { MessageChannel } from 'node:worker_threads';
import type { KnownCredential } from '../../src/auth/service';
import { RemoteAuthenticator } from '../../src/event-loops/remote-authenticator';
import { SharedMemory } from '../../src/event-loops/shared-memory';
import { Tunnel } from '../../src/event-loops/tunnel';
import { DEFAULT_ADMISSION_LIMITS, LocalAdmission, type AdmissionLimits } from '../../src/http/admission';
import type { ArrivingBody } from '../../src/http/arriving-bodies';
import type { Refusal } from '../../src/http/refusal';

const ONE = { network: '192.0.2.1', credential: 'token 1' };
const OTHER = { network: '192.0.2.2', credential: 'token 2' };

/** The admissions of so many event loops that share memory. */
function admissions(loops: number, limits: Partial<AdmissionLimits>): LocalAdmission[] {
  const first = SharedMemory.create();
  return Array.from({ length: loops }, (_, loop) => {
    const memory = loop === 0 ? first : SharedMemory.of(first);
    return new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, ...limits }, memory.admission);
  });
}

function body(given: Refusal[] = []): ArrivingBody {
  return { received: 0, giveUp: (refusal) => given.push(refusal) };
}

describe('C1.5 budgets of several event loops', () => {
  it('are those of one', () => {
    const [first, second] = admissions(2, { requests: 16 }) as [LocalAdmission, LocalAdmission];
    const held = Array.from({ length: 14 }, (_, at) => (at % 2 === 0 ? first : second).run(ONE, 0));
    expect(held.some((reservation) => 'reason' in reservation)).toBe(false);
    expect([first.requestsInFlight, second.requestsInFlight]).toEqual([14, 14]);
    // The rest is for who comes next.
    expect(second.run(ONE, 0)).toMatchObject({ reason: 'request_share' });
    const last = [second.run(OTHER, 0), first.run(OTHER, 0)];
    expect(first.run({ network: '192.0.2.3', credential: undefined }, 0)).toMatchObject({
      reason: 'requests',
    });
    for (const reservation of [...held, ...last]) if (!('reason' in reservation)) reservation.release();
    expect([first.requestsInFlight, second.requestsInFlight]).toEqual([0, 0]);
  });

  it('count bytes of bodies and of answers to the last one, and give all back', () => {
    const [first, second] = admissions(2, { bodyBytes: 1000 }) as [LocalAdmission, LocalAdmission];
    const arrival = first.receive(ONE, 0, 600, body());
    const late = second.receive(OTHER, 0, 600, body());
    if ('reason' in arrival || 'reason' in late) throw new Error('refused');
    expect(arrival.grow(599)).toBeUndefined();
    expect(late.grow(402)).toMatchObject({ reason: 'body_bytes' });
    expect(late.grow(401)).toBeUndefined();
    expect([first.bodyBytes, second.bodyBytes, first.arrivingBodies]).toEqual([1000, 1000, 2]);
    late.release();
    expect(arrival.begin()).toBeUndefined();
    const unread = arrival.answer(1_000_001, () => undefined);
    expect([second.bodyBytes, second.arrivingBodies, second.requestsInFlight]).toEqual([0, 0, 0]);
    expect(second.answerBytes).toBeGreaterThanOrEqual(1_000_001);
    unread.release();
    expect([first.answerBytes, second.answerBytes]).toEqual([0, 0]);
  });

  it('have the slowest arriving body of the loop that needs room give way', () => {
    const [first, second] = admissions(2, { arrivingBodies: 2 }) as [LocalAdmission, LocalAdmission];
    const given: Refusal[] = [];
    first.receive(ONE, 0, 10, body(given));
    second.receive(ONE, 0, 10, body());
    first.receive(OTHER, 0, 10, body());
    expect(given).toMatchObject([{ reason: 'bodies' }]);
    expect([first.arrivingBodies, second.arrivingBodies]).toEqual([2, 2]);
  });

  it('forget the clients of two seconds ago', () => {
    const [first, second] = admissions(2, { requests: 80 }) as [LocalAdmission, LocalAdmission];
    const now = performance.now();
    for (let at = 0; at < 7; at += 1) {
      const held = first.run({ network: `192.0.2.${at}`, credential: undefined }, now);
      if (!('reason' in held)) held.release();
    }
    const holdAll = (at: number): number => {
      const held = [];
      for (;;) {
        const next = second.run(ONE, at);
        if ('reason' in next) break;
        held.push(next);
      }
      for (const reservation of held) reservation.release();
      return held.length;
    };
    // Half of the budget is free for any; beyond it the share among several is less than that.
    expect(holdAll(now)).toBe(40);
    expect(holdAll(now + 5000)).toBe(70);
  });
});

describe('C3.11 credentials of a further event loop', () => {
  const known: KnownCredential = {
    identity: { kind: 'access-token', permissions: new Set(['read']), tokenId: 1 },
    expiresAt: null,
    isLasting: true,
  };

  it('are looked up again once anything was revoked, also while they were looked up', async () => {
    const memory = SharedMemory.create();
    const asked: ((found: KnownCredential | null) => void)[] = [];
    const ask = (): Promise<KnownCredential | null> => new Promise((resolve) => asked.push(resolve));
    const loop = new RemoteAuthenticator(SharedMemory.of(memory), ask);
    expect([loop.isClosed, loop.enabled]).toEqual([true, false]);
    memory.publish('enabled');
    expect([loop.isClosed, loop.enabled]).toEqual([false, true]);

    const early = loop.identify('Bearer x', undefined);
    memory.forgetCredentials();
    const late = loop.identify('Bearer x', undefined);
    expect(asked).toHaveLength(2);
    asked[0]?.(known);
    expect(await early).toEqual(known.identity);
    // What was found for a lookup from before is not kept.
    const still = loop.identify('Bearer x', undefined);
    expect(still).toBeInstanceOf(Promise);
    asked[1]?.(null);
    expect([await late, await still]).toEqual([null, null]);
    expect(asked).toHaveLength(2);

    memory.forgetCredentials();
    const again = loop.identify('Bearer x', undefined);
    asked[2]?.(known);
    expect(await again).toEqual(known.identity);
    expect(loop.identify('Bearer x', undefined)).toEqual(known.identity);
    memory.publish('closed');
    expect(loop.isClosed).toBe(true);
  });

  it('are looked up each time where they are no access tokens, and expire on time', async () => {
    let now = 1_000_000;
    let asked = 0;
    const answers: KnownCredential[] = [
      { ...known, isLasting: false },
      { ...known, expiresAt: 2000 },
    ];
    const ask = (): Promise<KnownCredential | null> =>
      Promise.resolve(answers[asked++ === 0 ? 0 : 1] ?? null);
    const loop = new RemoteAuthenticator(SharedMemory.create(), ask, () => now);
    expect(await loop.identify('Bearer x', undefined)).toEqual(known.identity);
    expect(await loop.identify('Bearer x', undefined)).toEqual(known.identity);
    expect(asked).toBe(2);
    expect(loop.identify('Bearer x', undefined)).toEqual(known.identity);
    now = 2_000_000;
    expect(await loop.identify('Bearer x', undefined)).toBeNull();
  });
});

describe('a tunnel', () => {
  it('holds the writer up beyond its window, and ends both directions', async () => {
    const { port1, port2 } = new MessageChannel();
    const [near, far] = [new Tunnel(port1), new Tunnel(port2)];
    const piece = Buffer.alloc(32 * 1024, 1);
    let written = 0;
    for (let at = 0; at < 64; at += 1) near.write(piece, () => (written += 1));
    near.end();
    await new Promise((resolve) => setTimeout(resolve, 50));
    // What is under way, and what the other end keeps before it is read.
    expect(written).toBeLessThanOrEqual(4);
    let read = 0;
    for await (const chunk of far as AsyncIterable<Buffer>) read += chunk.length;
    expect([read, written, far.bytesRead]).toEqual([64 * piece.length, 64, 64 * piece.length]);
  });

  it('tells the other end that it was cut', async () => {
    const { port1, port2 } = new MessageChannel();
    const [near, far] = [new Tunnel(port1), new Tunnel(port2)];
    const closed = new Promise((resolve) => far.once('close', resolve));
    near.destroy();
    await closed;
    expect(far.destroyed).toBe(true);
  });
});
