import { DEFAULT_ADMISSION_LIMITS, LocalAdmission } from '../../src/http/admission';
import type { ArrivingBody } from '../../src/http/arriving-bodies';
import type { Refusal } from '../../src/http/refusal';
import type { Client } from '../../src/http/shares';
import { send, startService, type Answer, type Service } from './harness';

const SEARCH = '/collections/c/points/search';

describe('C1.5 requests in progress', () => {
  let service: Service;
  let open: () => void;
  let running: Promise<Answer>[];
  beforeEach(async () => {
    service = await startService({
      admits: { requests: 16 },
      addresses: { of: ({ headers }) => String(headers['x-test-address']) },
    });
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    running = [];
  });
  afterEach(() => service.close());

  /** Sends requests that stay in progress, and waits until they are. */
  async function hold(count: number, headers: Record<string, string>): Promise<void> {
    const wanted = service.engine.requests.length + count;
    for (let sent = 0; sent < count; sent += 1) {
      running.push(send(service, 'POST', SEARCH, { headers }));
    }
    while (service.engine.requests.length < wanted) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The reason for which a request is refused now. */
  async function refused(headers: Record<string, string>): Promise<string> {
    const { status, headers: answered, body } = await send(service, 'POST', SEARCH, { headers });
    expect([status, answered['retry-after']]).toEqual([429, '1']);
    return body.status.error;
  }

  it('are all of one address while it is alone, but for a reserve that the next address finds', async () => {
    await hold(14, { 'x-test-address': '192.0.2.1' });
    expect(await refused({ 'x-test-address': '192.0.2.1' })).toBe(
      'Too many requests in progress from this address: its share is 14 while the server is busy',
    );
    await hold(2, { 'x-test-address': '192.0.2.2' });
    expect(await refused({ 'x-test-address': '192.0.2.2' })).toBe('Too many requests in progress: limit 16');
    open();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect(service.requests.refusals).toEqual(
      new Map([
        ['request_share', 1],
        ['requests', 1],
      ]),
    );
  });

  it('are shared among the addresses of the moment', async () => {
    await hold(1, { 'x-test-address': '192.0.2.2' });
    await hold(7, { 'x-test-address': '192.0.2.1' });
    expect(await refused({ 'x-test-address': '192.0.2.1' })).toMatch(/its share is 7 /);
    await hold(6, { 'x-test-address': '192.0.2.2' });
    expect(await refused({ 'x-test-address': '192.0.2.2' })).toMatch(/its share is 7 /);
    await hold(2, { 'x-test-address': '192.0.2.3' });
    open();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array(16).fill(200));
  });

  it('are shared by network of IPv6, of which a host has all addresses', async () => {
    for (let host = 1; host <= 14; host += 1) {
      await hold(1, { 'x-test-address': `2001:db8::${host}` });
    }
    expect(await refused({ 'x-test-address': '2001:db8::99' })).toMatch(/its share is 14 /);
    await hold(1, { 'x-test-address': '2001:db8:0:1::1' });
    open();
    await Promise.all(running);
  });

  it('are shared by credential, wherever it is used', async () => {
    service.auth.enabled = true;
    const token = { authorization: 'Bearer token-read' };
    const admin = { authorization: 'Bearer jwt', 'x-test-address': '192.0.2.99' };
    await hold(1, admin);
    for (let host = 1; host <= 7; host += 1) {
      await hold(1, { ...token, 'x-test-address': `192.0.2.${host}` });
    }
    expect(await refused({ ...token, 'x-test-address': '192.0.2.8' })).toBe(
      'Too many requests in progress from this credential: its share is 7 while the server is busy',
    );
    await hold(1, { ...admin, 'x-test-address': '192.0.2.98' });
    open();
    await Promise.all(running);
  });
});

describe('C1.5 bytes of bodies in progress', () => {
  const MIB = 1024 * 1024;
  const ONE = { network: '192.0.2.1', credential: undefined };
  const OTHER = { network: '192.0.2.2', credential: undefined };

  /** A body of which a test says what arrives. */
  class Body implements ArrivingBody {
    received = 0;
    givenUp: Refusal | undefined;
    readonly #arrival;

    constructor(admission: LocalAdmission, client: Client, since = performance.now()) {
      const arrival = admission.receive(client, since, undefined, this);
      if ('reason' in arrival) {
        throw new Error(arrival.failure.message);
      }
      this.#arrival = arrival;
    }

    arrive(bytes: number): string | undefined {
      this.received += bytes;
      return this.#arrival.grow(bytes)?.reason;
    }

    giveUp(refusal: Refusal): void {
      this.givenUp = refusal;
      this.#arrival.release();
    }

    run(): void {
      this.#arrival.begin();
    }
  }

  it('are those of the body that holds least when there are too many', () => {
    const admission = new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, bodyBytes: 100 * MIB });
    const long = new Body(admission, ONE, performance.now() - 3000);
    const short = new Body(admission, OTHER, performance.now() - 1000);
    expect([long.arrive(60 * MIB), short.arrive(30 * MIB)]).toEqual([undefined, undefined]);
    const third = new Body(admission, OTHER);
    expect(third.arrive(20 * MIB)).toBeUndefined();
    expect([long.givenUp?.reason, short.givenUp]).toEqual(['body_bytes', undefined]);
    expect(admission.bodyBytes).toBe(50 * MIB);
  });

  it('are not taken from a body that runs', () => {
    const admission = new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, bodyBytes: 100 * MIB });
    const running = new Body(admission, ONE, performance.now() - 3000);
    expect(running.arrive(90 * MIB)).toBeUndefined();
    running.run();
    const next = new Body(admission, OTHER);
    expect([next.arrive(20 * MIB), running.givenUp]).toEqual(['body_bytes', undefined]);
    expect(admission.receive(OTHER, 0, 20 * MIB, next)).toMatchObject({ reason: 'body_bytes' });
  });

  it('are a share of each address beyond a half, except for small bodies', () => {
    const admission = new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, bodyBytes: 80 * MIB });
    const [first, second, other] = [ONE, ONE, OTHER].map((client) => {
      const body = new Body(admission, client);
      body.arrive(1);
      return body;
    });
    expect(first?.arrive(34 * MIB)).toBeUndefined();
    first?.run();
    expect(second?.arrive(10 * MIB)).toBe('body_share');
    expect(second?.arrive(64 * 1024 - 1)).toBeUndefined();
    expect(other?.arrive(34 * MIB)).toBeUndefined();
    expect(other?.givenUp).toBeUndefined();
  });

  it('are a share of each credential beyond a half, wherever it is used', () => {
    const admission = new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, bodyBytes: 80 * MIB });
    const [first, second, other] = [
      { network: '192.0.2.1', credential: 'token 1' },
      { network: '192.0.2.2', credential: 'token 1' },
      { network: '192.0.2.3', credential: 'token 2' },
    ].map((client) => {
      const body = new Body(admission, client);
      body.arrive(1);
      return body;
    });
    expect(first?.arrive(34 * MIB)).toBeUndefined();
    first?.run();
    expect(second?.arrive(10 * MIB)).toBe('body_share');
    expect(other?.arrive(20 * MIB)).toBeUndefined();
  });

  it('are those of the body of the same address that holds most, where the share of that is full', () => {
    const admission = new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, bodyBytes: 80 * MIB });
    const other = new Body(admission, OTHER, performance.now() - 900);
    const earlier = new Body(admission, ONE, performance.now() - 500);
    const later = new Body(admission, ONE);
    expect(other.arrive(20 * MIB)).toBeUndefined();
    expect(earlier.arrive(30 * MIB)).toBeUndefined();
    expect(later.arrive(20 * MIB)).toBeUndefined();
    expect([earlier.givenUp?.reason, other.givenUp]).toEqual(['body_share', undefined]);
  });

  it('are never refused to the only body of a client for the sake of its share', () => {
    const admission = new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, bodyBytes: 80 * MIB });
    const other = new Body(admission, OTHER);
    expect(other.arrive(MIB)).toBeUndefined();
    expect(new Body(admission, ONE).arrive(79 * MIB)).toBeUndefined();
  });
});
