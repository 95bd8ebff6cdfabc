import fc from 'fast-check';
import type { IncomingHttpHeaders } from 'node:http';
import { canonicalAddress, ClientAddresses, networkOf, siteOf } from '../../src/http/client-address';

const PROXIES = ['10.0.0.0/8', '2001:db8:ffff::/48', '127.0.0.1/32'];

/** The client of a request that `peer` sends with these headers. */
function client(peer: string | undefined, headers: IncomingHttpHeaders = {}, proxies = PROXIES): string {
  return new ClientAddresses(proxies).of({ headers, socket: { remoteAddress: peer } });
}

describe('C3.3 the address of a client', () => {
  it('is that of the peer, whose headers do not count', () => {
    expect(client('192.0.2.7')).toBe('192.0.2.7');
    expect(client('192.0.2.7', { 'x-forwarded-for': '198.51.100.1', forwarded: 'for=198.51.100.1' })).toBe(
      '192.0.2.7',
    );
    expect(client('10.0.0.1', { 'x-forwarded-for': '198.51.100.1' }, [])).toBe('10.0.0.1');
    expect(client('::ffff:192.0.2.7')).toBe('192.0.2.7');
    expect(client('FE80:0::1%eth0')).toBe('fe80::1');
    expect(client(undefined, { 'x-forwarded-for': '198.51.100.1' })).toBe('');
  });

  it.each([
    ['198.51.100.1', '198.51.100.1'],
    ['198.51.100.1:8080', '198.51.100.1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['2001:DB8:0::7', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    // What the client wrote itself stands before what the proxies added.
    ['203.0.113.9, 198.51.100.1', '198.51.100.1'],
    ['nonsense, 198.51.100.1', '198.51.100.1'],
    ['127.0.0.1, 198.51.100.1, 10.1.2.3, 2001:db8:ffff::1', '198.51.100.1'],
    // All are proxies: the first of them asks for itself.
    ['10.1.2.3, 10.3.2.1', '10.1.2.3'],
  ])('behind a trusted proxy is the last of X-Forwarded-For that none set: %s', (header, expected) => {
    expect(client('10.0.0.1', { 'x-forwarded-for': header })).toBe(expected);
    expect(client('::ffff:10.0.0.1', { 'x-forwarded-for': header })).toBe(expected);
  });

  it.each([
    ['for=198.51.100.1', '198.51.100.1'],
    ['For="198.51.100.1:8080";proto=https;by=10.0.0.1', '198.51.100.1'],
    ['proto=https;for="[2001:db8::7]:443"', '2001:db8::7'],
    ['for="203.0.113.9", for=198.51.100.1', '198.51.100.1'],
    ['for="a,b\\"; c" , for=198.51.100.1,for=10.1.2.3;by="_x"', '198.51.100.1'],
  ])('behind a trusted proxy is the last of Forwarded that none set: %s', (header, expected) => {
    expect(client('10.0.0.1', { forwarded: header })).toBe(expected);
  });

  it.each([
    { 'x-forwarded-for': 'unknown' },
    { 'x-forwarded-for': '' },
    { 'x-forwarded-for': '198.51.100.1, unknown' },
    { 'x-forwarded-for': '198.51.100.1, unknown, 10.1.2.3' },
    { 'x-forwarded-for': '198.51.100.1,' },
    { 'x-forwarded-for': '0x7f.1' },
    { 'x-forwarded-for': '198.51.100.256' },
    { 'x-forwarded-for': '198.51.100.1:port' },
    { forwarded: 'for=_hidden' },
    { forwarded: 'proto=https' },
    { forwarded: 'for="198.51.100.1' },
    { forwarded: 'for=198.51.100.1;' },
    { forwarded: 'for="x, for=198.51.100.1' },
    { forwarded: '' },
    { forwarded: 'for=198.51.100.1', 'x-forwarded-for': '198.51.100.2' },
    { forwarded: 'for=198.51.100.1', 'x-forwarded-for': 'unknown' },
  ])('that a trusted proxy did not make clear counts as the peer: %j', (headers) => {
    expect(client('10.0.0.1', headers)).toBe('10.0.0.1');
  });

  it('is not looked for behind more than 32 proxies', () => {
    const behind = (proxies: number): string => `198.51.100.1${',10.1.2.3'.repeat(proxies)}`;
    expect(client('10.0.0.1', { 'x-forwarded-for': behind(32) })).toBe('198.51.100.1');
    expect(client('10.0.0.9', { 'x-forwarded-for': behind(33) })).toBe('10.0.0.9');
  });

  it('may be in both headers when they agree', () => {
    expect(
      client('10.0.0.1', {
        forwarded: 'for=203.0.113.9, for=198.51.100.1',
        'x-forwarded-for': '198.51.100.1',
      }),
    ).toBe('198.51.100.1');
  });

  it('is read in time that grows with the header, and never fails', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (listed, forwarded) => {
        client('10.0.0.1', { 'x-forwarded-for': listed, forwarded });
      }),
    );
    expect(client('10.0.0.1', { forwarded: 'for="\\'.repeat(8192) })).toBe('10.0.0.1');
    expect(client('10.0.0.1', { forwarded: `for=${' '.repeat(16_000)}` })).toBe('10.0.0.1');
  });

  it('trusts exactly the addresses of a block', () => {
    const bits = (address: number[]): bigint => BigInt(`0x${Buffer.from(address).toString('hex')}`);
    const address = (size: number): fc.Arbitrary<number[]> =>
      fc.array(fc.constantFrom(0, 1, 127, 128, 255), { minLength: size, maxLength: size });
    const text = (bytes: readonly number[]): string =>
      bytes.length === 4
        ? bytes.join('.')
        : Buffer.from(bytes)
            .toString('hex')
            .replace(/(.{4})(?!$)/g, '$1:');
    for (const size of [4, 16]) {
      fc.assert(
        fc.property(address(size), address(size), fc.nat(8 * size), (block, peer, prefix) => {
          // The all-zero groups of a mapped address are left to the cases above.
          fc.pre(size === 4 || (block[0] !== 0 && peer[0] !== 0));
          const shift = BigInt(8 * size - prefix);
          const isIn = bits(block) >> shift === bits(peer) >> shift;
          const found = client(text(peer), { 'x-forwarded-for': '192.0.2.99' }, [`${text(block)}/${prefix}`]);
          expect(found === '192.0.2.99' || found === '').toBe(isIn);
        }),
      );
    }
  });
});

describe('what addresses count as', () => {
  it('a host of IPv6 has a /64, a site a /48, an address of IPv4 itself', () => {
    expect(networkOf('192.0.2.7')).toBe('192.0.2.7');
    expect(siteOf('192.0.2.7')).toBe('192.0.2.7');
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(siteOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1::/48');
    expect(networkOf('2001:db8::7')).toBe('2001:db8:0:0::/64');
    expect(siteOf('2001:db8::1:0:0:1')).toBe('2001:db8:0::/48');
    expect(networkOf('::1')).toBe('0:0:0:0::/64');
    expect(networkOf('::192.0.2.7')).toBe('0:0:0:0::/64');
    expect(networkOf('1::')).toBe('1:0:0:0::/64');
    expect(networkOf('')).toBe('');
  });

  it('is the same for every way to write an address', () => {
    fc.assert(
      fc.property(fc.ipV6(), (written) => {
        const canonical = canonicalAddress(written) ?? '';
        expect(canonicalAddress(canonical.toUpperCase())).toBe(canonical);
        if (canonical.includes(':')) {
          expect(networkOf(canonical)).toMatch(/^(?:[0-9a-f]{1,4}:){4}:\/64$/);
        }
      }),
    );
  });
});
