import { isDirectLocal, originGuard } from '../../src/auth';
import type { Caller } from '../../src/http/authorization';
import { isLoopbackAddress, namesLoopback } from '../../src/auth/loopback';
import type { AddressInfo } from 'node:net';
import { PASSWORD, startAuth } from './auth-server';
import { sendRaw } from '../http/harness';

const caller = (headers: Record<string, string | undefined> = {}, remoteAddress?: string): Caller => ({
  headers: { host: '127.0.0.1:6363', ...headers },
  socket: { remoteAddress: remoteAddress ?? '127.0.0.1' },
});

describe('loopback', () => {
  it.each([
    '127.0.0.1',
    '127.255.0.9',
    '::1',
    '::ffff:127.0.0.1',
    '::FFFF:127.0.0.1',
    '::ffff:127.100.200.250',
  ])('%s is', (address) => {
    expect(isLoopbackAddress(address)).toBe(true);
  });

  it.each([
    '',
    '128.0.0.1',
    '10.0.0.1',
    '::',
    '::2',
    '::ffff:10.0.0.1',
    'fe80::1',
    '127.0.0.1.evil',
    '127.1',
  ])('%p is not', (address) => {
    expect(isLoopbackAddress(address)).toBe(false);
  });

  it.each([
    'localhost',
    'LocalHost:6363',
    'localhost.',
    'app.localhost:1',
    '127.0.0.1',
    '127.0.0.1:6363',
    '[::1]',
    '[::1]:6363',
    '[::ffff:127.0.0.1]:6363',
  ])('the Host %s names it', (host) => {
    expect(namesLoopback(host)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil.example',
    'evil.example#127.0.0.1',
    'localhost:x',
    'localhost:1:2',
    'localhost, evil.example',
    'localhost evil.example',
    '0.0.0.0',
    '10.0.0.1',
    '[::]',
    '::1',
    '127.0.0.1:',
    'notlocalhost',
  ])('the Host %p does not', (host) => {
    expect(namesLoopback(host)).toBe(false);
  });
});

describe('C3.3 a direct local caller', () => {
  it('has a loopback peer, a loopback Host and nothing in between', () => {
    expect(isDirectLocal(caller())).toBe(true);
    expect(isDirectLocal(caller({ host: 'localhost:1' }, '::1'))).toBe(true);
    expect(isDirectLocal(caller({}, '::ffff:127.0.0.1'))).toBe(true);
  });

  it.each<[string, Caller]>([
    ['a remote peer', caller({}, '10.0.0.1')],
    ['a remote peer that says it is local', caller({ 'x-forwarded-for': '127.0.0.1' }, '10.0.0.1')],
    ['another Host', caller({ host: 'evil.example' })],
    ['no Host', caller({ host: undefined })],
    ['Forwarded', caller({ forwarded: 'for=127.0.0.1' })],
    ['X-Forwarded-For', caller({ 'x-forwarded-for': '127.0.0.1' })],
    ['X-Forwarded-Anything', caller({ 'x-forwarded-anything': '' })],
    ['X-Forwarded', caller({ 'x-forwarded': 'for=127.0.0.1' })],
    ['X-Forwarded without a hyphen', caller({ 'x-forwardedfor': '127.0.0.1' })],
    ['X-Real-IP', caller({ 'x-real-ip': '127.0.0.1' })],
    ['X-Client-IP', caller({ 'x-client-ip': '127.0.0.1' })],
    ['CF-Connecting-IP', caller({ 'cf-connecting-ip': '127.0.0.1' })],
    ['True-Client-IP', caller({ 'true-client-ip': '127.0.0.1' })],
    ['Fastly-Client-IP', caller({ 'fastly-client-ip': '127.0.0.1' })],
    ...[
      'CDN-Loop',
      'CF-Connecting-IPv6',
      'CF-Pseudo-IPv4',
      'Client-IP',
      'CloudFront-Viewer-Address',
      'DO-Connecting-IP',
      'Fly-Client-IP',
      'Forwarded-For',
      'Proxy-Client-IP',
      'WL-Proxy-Client-IP',
      'X-AppEngine-User-IP',
      'X-Azure-ClientIP',
      'X-Azure-SocketIP',
      'X-Cluster-Client-IP',
      'X-Envoy-External-Address',
      'X-NF-Client-Connection-IP',
      'X-Original-Forwarded-For',
      'X-Remote-Addr',
      'X-Remote-IP',
      'X-Vercel-Forwarded-For',
    ].map((name): [string, Caller] => [name, caller({ [name.toLowerCase()]: '127.0.0.1' })]),
    ['Via', caller({ via: '1.1 proxy' })],
    ['HTTP/1.0, as nginx sends it', { ...caller(), httpVersion: '1.0' }],
    ['a page of another origin', caller({ origin: 'https://evil.example' })],
    ['a page without an origin', caller({ origin: 'null' })],
    ['a closed socket', { headers: { host: 'localhost' }, socket: { remoteAddress: undefined } }],
  ])('is not one with %s', (_what, request) => {
    expect(isDirectLocal(request)).toBe(false);
  });

  it('may send what a client sends of itself', () => {
    const own = { accept: '*/*', 'user-agent': 'client', 'x-request-id': '1', 'x-client-version': '1' };
    expect(isDirectLocal(caller(own))).toBe(true);
  });

  it('is a page of the server itself too', () => {
    expect(isDirectLocal(caller({ host: 'localhost:6363', origin: 'http://localhost:6363' }))).toBe(true);
  });

  it('may not be a listed origin: who may read data may not set passwords', () => {
    const guard = originGuard({ host: '127.0.0.1', corsOrigins: ['https://app.example'] });
    expect(guard.refuse(caller({ origin: 'https://app.example' }), true)).toBeUndefined();
    expect(guard.refuseRemote(caller({ origin: 'https://app.example' }))).toBe(
      'This endpoint can only be called from localhost',
    );
  });
});

describe('C3.8 cross-origin requests', () => {
  const guard = originGuard({ host: '127.0.0.1', corsOrigins: ['https://app.example'] });

  it.each([
    [undefined, true],
    ['http://127.0.0.1:6363', true],
    ['https://127.0.0.1:6363', true],
    ['https://app.example', true],
    ['https://app.example:8443', false],
    ['http://app.example', false],
    ['https://evil.example', false],
    ['http://127.0.0.1:7000', false],
    ['http://localhost:6363', false],
    ['null', false],
    ['', false],
    ['nonsense', false],
    ['file://127.0.0.1:6363', false],
  ])('from %s: allowed is %s', (origin, allowed) => {
    for (const enabled of [true, false]) {
      const refused = guard.refuse(caller({ origin }), enabled);
      expect(refused === undefined).toBe(allowed);
      if (!allowed) {
        expect(refused).toMatch(/KITHDB_CORS_ORIGINS/);
      }
    }
  });

  it('knows its own origin on a default port', () => {
    const own = caller({ host: 'db.example', origin: 'https://db.example' });
    expect(guard.refuse(own, true)).toBeUndefined();
    const explicit = caller({ host: 'db.example:443', origin: 'https://db.example' });
    expect(guard.refuse(explicit, true)).toBeUndefined();
  });
});

describe('C3.8 DNS rebinding', () => {
  const rebound = caller({ host: 'evil.example:6363' });

  it('is refused while authentication is disabled on loopback', () => {
    const guard = originGuard({ host: '127.0.0.1', corsOrigins: [] });
    expect(guard.refuse(rebound, false)).toMatch(/Host header/);
    expect(guard.refuse(caller({ host: undefined }), false)).toMatch(/Host header/);
    expect(guard.refuse(rebound, true)).toBeUndefined();
    expect(guard.refuse(caller(), false)).toBeUndefined();
  });

  describe('on other addresses, whose names we do not know', () => {
    const guard = originGuard({
      host: '0.0.0.0',
      corsOrigins: ['https://db.example', 'https://app.example'],
    });
    const page = (host: string, origin = `https://${host}`) => guard.refuse(caller({ host, origin }), false);

    it('is refused when a page asks', () => {
      expect(page('evil.example:6363')).toMatch(/Host header/);
      expect(page('127.0.0.1.evil.example')).toMatch(/Host header/);
      expect(page('[evil.example]')).toMatch(/Host header|Cross-origin/);
    });

    it.each(['10.0.0.7:6363', '[2001:db8::7]:6363', '[::1]', 'localhost:6363', 'db.example'])(
      'is not suspected of a page from %s: an address, a name of this machine, or a listed origin',
      (host) => {
        expect(page(host)).toBeUndefined();
      },
    );

    it('is not suspected of listed pages, of clients that send no Origin, nor with authentication', () => {
      expect(page('db.internal:6363', 'https://app.example')).toBeUndefined();
      expect(guard.refuse(rebound, false)).toBeUndefined();
      const evil = caller({ host: 'evil.example', origin: 'https://evil.example' });
      expect(guard.refuse(evil, true)).toBeUndefined();
    });
  });

  it('is a 403 on data endpoints, not on the plain ones', async () => {
    const server = await startAuth();
    try {
      const { body } = await server.client.get('/collections').set('Host', 'evil.example').expect(403);
      expect(body.status.error).toMatch(/Host header/);
      await server.client.get('/livez').set('Host', 'evil.example').expect(200);
      const { body: auth } = await server.client
        .post('/auth/admin/login')
        .set('Host', 'evil.example')
        .send({ password: 'x' })
        .expect(403);
      expect(auth.status).toBe('error');
      await server.client.get('/collections').set('Origin', 'https://evil.example').expect(403);
      await server.client.get('/collections').expect(412);
    } finally {
      await server.close();
    }
  });
});

describe('C3.3 the local-only endpoints', () => {
  it('see the headers that a proxy added after any number of other headers', async () => {
    const server = await startAuth();
    try {
      const body = JSON.stringify({ password: PASSWORD });
      const lines = [
        'POST /auth/admin HTTP/1.1',
        'Host: localhost',
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        ...Array.from({ length: 1500 }, () => 'a:b'),
        'X-Forwarded-For: 203.0.113.9',
        'Connection: close',
      ];
      const { port } = server.server.address() as AddressInfo;
      const received = await sendRaw({ port }, `${lines.join('\r\n')}\r\n\r\n${body}`);
      expect(received).toMatch(/^HTTP\/1\.1 403 /);
      expect(server.auth.adminExists).toBe(false);
    } finally {
      await server.close();
    }
  });
});
