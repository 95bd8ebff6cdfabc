/** The built site over HTTP, as a web server of files has it. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

/**
 * @param {string} folder
 * @returns {Promise<{url: string, close: () => Promise<unknown>}>} `url` ends with a slash
 */
export async function serveFolder(folder) {
  const base = process.env.KITHDB_SITE_BASE ?? '/';
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const path = normalize(decodeURIComponent(pathname)).replace(base, '/');
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    readFile(file).then(
      (content) => response.setHeader('content-type', TYPES[extname(file)] ?? 'text/plain').end(content),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
    return once(server, 'close');
  };
  return { url: `http://127.0.0.1:${server.address().port}${base}`, close };
}
