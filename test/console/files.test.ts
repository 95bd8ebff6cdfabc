import { readdirSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { startServer, type TemporaryServer } from '../../src/temporary-server';

const FOLDER = join(__dirname, '..', '..', 'dist', 'console', 'app');
const PASSWORD = 'Correct-horse-7-staple';

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The path as it is: `fetch` would resolve dots. */
function ask(url: string, path: string, acceptEncoding = ''): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    get({ hostname, port, path, headers: { 'Accept-Encoding': acceptEncoding } }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) });
      });
    }).on('error', reject);
  });
}

/** What the page names: the files of the first view. */
function linksOf(page: string): string[] {
  return [...page.matchAll(/(?:href|src)="\.(\/console\/[^"]+)"/g)].map(([, path]) => path ?? '');
}

describe('the files of the console', () => {
  let server: TemporaryServer;

  beforeAll(async () => {
    server = await startServer({
      settings: { KITHDB_AUTH_ENABLED: 'true', KITHDB_ADMIN_PASSWORD: PASSWORD },
    });
  });

  afterAll(() => server.stop());

  it('C3.16 need no credential, and are those of the build', async () => {
    const page = await ask(server.url, '/console');
    expect(page.status).toBe(200);
    const links = linksOf(page.body.toString());
    expect(links.length).toBeGreaterThanOrEqual(3);
    for (const link of links) expect((await ask(server.url, link)).status).toBe(200);
    expect((await ask(server.url, '/collections')).status).toBe(401);
  });

  it('are a page that is asked for each time, and files that never change', async () => {
    const page = await ask(server.url, '/console');
    expect(page.headers['cache-control']).toBe('no-cache');
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    for (const link of linksOf(page.body.toString())) {
      const { headers } = await ask(server.url, link);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('C9.4 run nothing that is not from this server, and are in no frame', async () => {
    const { headers } = await ask(server.url, '/console');
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    );
    expect(policy.join()).not.toMatch(/unsafe|\*|https?:/);
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['referrer-policy']).toBe('no-referrer');
  });

  it('come compressed to whoever takes that, and are the same in each form', async () => {
    const [link = ''] = linksOf((await ask(server.url, '/console')).body.toString()).filter((of) =>
      of.endsWith('.js'),
    );
    const plain = await ask(server.url, link);
    const gzip = await ask(server.url, link, 'gzip, deflate');
    const brotli = await ask(server.url, link, 'gzip, deflate, br');
    const refused = await ask(server.url, link, 'br;q=0, gzip;q=0');
    expect([plain, gzip, brotli, refused].map(({ headers }) => headers['content-encoding'])).toEqual([
      undefined,
      'gzip',
      'br',
      undefined,
    ]);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    expect(refused.body.equals(plain.body)).toBe(true);
    expect(brotli.body.length).toBeLessThan(plain.body.length / 2);
    for (const { headers } of [plain, gzip, brotli]) expect(headers['vary']).toBe('Accept-Encoding');
  });

  it('have a first view of at most 250 kB, compressed', async () => {
    const page = await ask(server.url, '/console', 'gzip');
    const sizes = [page.body.length];
    for (const link of linksOf(gunzipSync(page.body).toString())) {
      sizes.push((await ask(server.url, link, 'gzip')).body.length);
    }
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(250_000);
  });

  it('are found by their names alone', async () => {
    const names = readdirSync(FOLDER);
    expect(names.some((name) => name.endsWith('.br'))).toBe(true);
    for (const path of [
      '/console/nothing.js',
      '/console/..%2f..%2f..%2fpackage.json',
      '/console/../routes.js',
      '/console/index.html',
      '/console/index.html.br',
      '/console/%00',
      '/console/a/b',
    ]) {
      expect([path, (await ask(server.url, path)).status]).toEqual([path, 404]);
    }
  });

  it('are reached with a slash at the end of the path too', async () => {
    const { status, headers } = await ask(server.url, '/console/');
    expect([status, headers['location']]).toEqual([308, '../console']);
  });

  it('C9.4 are not there when the setting turns the console off', async () => {
    const off = await startServer({ settings: { KITHDB_CONSOLE: 'false' } });
    try {
      const page = await ask(off.url, '/console');
      expect(page.status).toBe(404);
      expect(page.body.toString()).toContain('Route not found: GET /console');
    } finally {
      await off.stop();
    }
  });
});
