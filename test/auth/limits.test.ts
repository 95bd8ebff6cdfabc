import type * as Argon2 from '@node-rs/argon2';
import { verify as check } from '@node-rs/argon2';
import fc from 'fast-check';
import { LocalIdentityCache, type KnownToken } from '../../src/auth/identity-cache';
import { LocalLoginThrottle, type Attempt, type Refusal } from '../../src/auth/login-throttle';
import { HashingBusy, LocalPasswordHasher } from '../../src/auth/password-hashing';
import { ADMIN_IDENTITY } from '../../src/auth/permissions';

jest.mock('@node-rs/argon2', () => {
  const actual = jest.requireActual<typeof Argon2>('@node-rs/argon2');
  return { ...actual, verify: jest.fn(actual.verify) };
});

describe('C3.4 the login throttle', () => {
  let now: number;
  let throttle: LocalLoginThrottle;
  beforeEach(() => {
    now = 1_000_000;
    throttle = new LocalLoginThrottle(() => now);
  });

  async function fail(peer = '10.0.0.1'): Promise<void> {
    const attempt = await throttle.attempt(peer);
    expect(attempt.allowed).toBe(true);
    (attempt as Attempt).failed();
  }

  async function pause(peer = '10.0.0.1'): Promise<number> {
    const refused = await throttle.attempt(peer);
    expect(refused.allowed).toBe(false);
    return (refused as Refusal).retryAfterSeconds;
  }

  it('lets five failures pass, then doubles the pause up to a minute', async () => {
    for (let attempt = 0; attempt < 5; attempt++) {
      await fail();
    }
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      expect(await pause()).toBe(seconds);
      now += seconds * 1000 - 1;
      expect(await pause()).toBe(1);
      now += 1;
      await fail();
    }
  });

  it('forgets failures after a minute', async () => {
    for (let attempt = 0; attempt < 4; attempt++) {
      await fail();
    }
    now += 60_000;
    for (let attempt = 0; attempt < 5; attempt++) {
      await fail();
    }
    expect(await pause()).toBe(1);
    now += 61_000;
    for (let attempt = 0; attempt < 5; attempt++) {
      await fail();
    }
    expect(await pause()).toBe(1);
  });

  it('is reset by a success', async () => {
    for (let attempt = 0; attempt < 6; attempt++) {
      await fail();
      now += 1000;
    }
    now += 2000;
    ((await throttle.attempt('10.0.0.1')) as Attempt).succeeded();
    for (let attempt = 0; attempt < 5; attempt++) {
      await fail();
    }
    expect(await pause()).toBe(1);
  });

  it('counts each address by itself, and an IPv6 network as one', async () => {
    for (let attempt = 0; attempt < 5; attempt++) {
      await fail(`2001:db8::${attempt}`);
      await fail('10.0.0.1');
    }
    expect(await pause('2001:db8::ffff:0:0:9')).toBe(1);
    expect(await pause('10.0.0.1')).toBe(1);
    await fail('2001:db8:0:1::1');
    await fail('10.0.0.2');
  });

  it('lets twenty failures of a whole /48 pass, however many of its addresses try', async () => {
    const address = (network: number): string => `2001:db8:7:${network.toString(16)}::1`;
    for (let network = 0; network < 20; network++) {
      await fail(address(network));
    }
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      expect(await pause(address(1000 + seconds))).toBe(seconds);
      now += seconds * 1000;
      await fail(address(2000 + seconds));
    }
    await fail('2001:db8:8::1');
    now += 120_001;
    for (let network = 0; network < 20; network++) {
      await fail(address(network));
    }
    expect(await pause(address(77))).toBe(1);
  });

  it('is not reset for a /48 by a success from one of its addresses', async () => {
    for (let network = 0; network < 19; network++) {
      await fail(`2001:db8:7:${network}::1`);
    }
    ((await throttle.attempt('2001:db8:7:99::1')) as Attempt).succeeded();
    await fail('2001:db8:7:98::1');
    expect(await pause('2001:db8:7:97::1')).toBe(1);
  });

  it('runs no more attempts of a /48 at once than it has failures left', async () => {
    const running = await Promise.all(
      Array.from({ length: 20 }, (_, network) => throttle.attempt(`2001:db8:7:${network}::1`)),
    );
    expect(running.map((attempt) => (attempt as Attempt).recentFailures)).toEqual([...Array(20).keys()]);
    const waiting = throttle.attempt('2001:db8:7:99::1');
    (running[0] as Attempt).failed();
    await Promise.resolve();
    for (const attempt of running.slice(1)) {
      (attempt as Attempt).failed();
    }
    expect((await waiting).allowed).toBe(false);
  });

  it('counts the failures of an address and what it tries at the same time', async () => {
    const recentFailures = async (peer: string): Promise<number> => {
      const attempt = (await throttle.attempt(peer)) as Attempt;
      attempt.failed();
      return attempt.recentFailures;
    };
    expect([
      await recentFailures('10.0.0.1'),
      await recentFailures('10.0.0.1'),
      await recentFailures('10.0.0.2'),
    ]).toEqual([0, 1, 0]);
    const running = (await throttle.attempt('10.0.0.3')) as Attempt;
    expect(await recentFailures('10.0.0.3')).toBe(1);
    running.succeeded();
  });

  it('lets running attempts spend what is left, and makes the others wait', async () => {
    const running = await Promise.all(Array.from({ length: 5 }, () => throttle.attempt('a')));
    expect(running.every(({ allowed }) => allowed)).toBe(true);
    const waiting = throttle.attempt('a');
    let settled = false;
    void waiting.then(() => {
      settled = true;
    });
    await Promise.resolve();
    expect(settled).toBe(false);
    (running[0] as Attempt).succeeded();
    expect((await waiting).allowed).toBe(true);
  });

  it('refuses those who wait when the last chance was missed, and those beyond eight at once', async () => {
    const running = await Promise.all(Array.from({ length: 5 }, () => throttle.attempt('a')));
    const waiting = Array.from({ length: 8 }, () => throttle.attempt('a'));
    expect(await throttle.attempt('a')).toEqual({ allowed: false, retryAfterSeconds: 1 });
    for (const attempt of running) {
      (attempt as Attempt).failed();
    }
    for (const refused of await Promise.all(waiting)) {
      expect(refused).toEqual({ allowed: false, retryAfterSeconds: 1 });
    }
  });

  it('does not count an attempt that was given up', async () => {
    for (let attempt = 0; attempt < 20; attempt++) {
      ((await throttle.attempt('a')) as Attempt).abandoned();
    }
    await fail('a');
  });

  it('never lets more than five guesses through before the first pause, whatever their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 40 }), async (ends) => {
        const limited = new LocalLoginThrottle(() => now);
        const running: Attempt[] = [];
        let granted = 0;
        for (const end of ends) {
          if (end) {
            running.shift()?.failed();
          } else {
            const asked = limited.attempt('a');
            const attempt = await Promise.race([asked, Promise.resolve(undefined)]);
            if (attempt?.allowed === true) {
              granted += 1;
              running.push(attempt);
            } else {
              break;
            }
          }
        }
        expect(granted).toBeLessThanOrEqual(5);
      }),
    );
  });
});

describe('password hashing', () => {
  it('runs two at a time, lets eight wait and refuses the eleventh', async () => {
    const hasher = new LocalPasswordHasher();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, () => hasher.verify(undefined, 'x')),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(2);
    for (const outcome of refused) {
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(HashingBusy);
    }
    expect(await hasher.verify(undefined, 'x')).toBe(false);
  });

  it('keeps a place free for those without recent failures, and takes those with the fewest first', async () => {
    const checks = jest.mocked(check);
    checks.mockClear();
    const hasher = new LocalPasswordHasher();
    const refused: string[] = [];
    const verify = (name: string, recentFailures: number): Promise<unknown> =>
      hasher.verify(undefined, name, recentFailures).catch((error: unknown) => {
        expect(error).toBeInstanceOf(HashingBusy);
        refused.push(name);
      });
    const suspects = Array.from({ length: 9 }, (_, n) => verify(`suspect ${n}`, 9 - n));
    // One of the nine runs, and eight wait: the one with the most failures makes room.
    await Promise.all([...suspects, verify('good', 0), verify('better', 0), verify('third', 0)]);
    expect(refused).toEqual(['suspect 1', 'suspect 2']);
    const waited = [8, 7, 6, 5, 4, 3].map((n) => `suspect ${n}`);
    const begun = checks.mock.calls.map(([, password]) => String(password));
    expect(begun).toEqual(['suspect 0', 'good', 'better', 'third', ...waited]);
  });

  it('makes Argon2id strings of 64 MiB and three passes, each with its own salt', async () => {
    const hasher = new LocalPasswordHasher();
    const [first, second] = [await hasher.hash('Pässwörd'), await hasher.hash('Pässwörd')];
    expect(first).toMatch(/^\$argon2id\$v=19\$m=65536,t=3,p=1\$/);
    expect(first).not.toBe(second);
    expect(hasher.isOutdated(first)).toBe(false);
    expect(await hasher.verify(first, 'Pässwörd')).toBe(true);
    expect(await hasher.verify(first, 'Passwörd')).toBe(false);
  });

  it('fails without a hash, and goes on after an error', async () => {
    const hasher = new LocalPasswordHasher();
    expect(await hasher.verify(undefined, '')).toBe(false);
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(hasher.verify('no hash at all', 'x')).rejects.toThrow();
    }
    expect(await hasher.verify(await hasher.hash('x'), 'x')).toBe(true);
  });
});

describe('the identity cache', () => {
  const known: KnownToken = { identity: ADMIN_IDENTITY, expiresAt: null };
  let now: number;
  let cache: LocalIdentityCache;
  beforeEach(() => {
    now = 0;
    cache = new LocalIdentityCache(() => now);
  });

  it('keeps what the store knows, and for a second what it does not', () => {
    cache.remember('a', known, cache.epoch);
    cache.remember('b', null, cache.epoch);
    expect(cache.find('a')).toBe(known);
    expect(cache.find('b')).toBeNull();
    expect(cache.find('c')).toBeUndefined();
    now = 1000;
    expect(cache.find('a')).toBe(known);
    expect(cache.find('b')).toBeUndefined();
  });

  it('is emptied at once, and does not store the result of an earlier lookup', () => {
    const { epoch } = cache;
    cache.remember('a', known, epoch);
    cache.clear();
    expect(cache.find('a')).toBeUndefined();
    cache.remember('a', known, epoch);
    expect(cache.find('a')).toBeUndefined();
    cache.remember('a', known, cache.epoch);
    expect(cache.find('a')).toBe(known);
  });

  it('stays bounded under unknown tokens', () => {
    for (let i = 0; i < 5000; i++) {
      cache.remember(`unknown ${i}`, null, cache.epoch);
    }
    expect(cache.find('unknown 0')).toBeUndefined();
    expect(cache.find('unknown 4999')).toBeNull();
    for (let i = 0; i < 10_001; i++) {
      cache.remember(`known ${i}`, known, cache.epoch);
    }
    expect(cache.find('known 0')).toBeUndefined();
    expect(cache.find('known 10000')).toBe(known);
  });
});
