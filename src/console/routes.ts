import type { Exchange } from '../http/exchange';
import { acceptsCoding } from '../http/content-coding';
import { routeNotFound } from '../http/errors';
import type { PlainRoute } from '../http/route-table';
import { ConsoleFiles, type StaticFile } from './files';

/** The page itself is asked for each time, so that a browser takes the files of the release that runs. */
const PAGE_CACHE = 'no-cache';

const FOLDER = '/console/';

/** Names of files hold a digest of their content. */
const FILE_CACHE = 'public, max-age=31536000, immutable';

/**
 * What the page may load: files of this server. It runs no script from a page, a string or another origin, and no other
 * page can frame it. `require-trusted-types-for` makes the browser refuse text where markup or scripts are expected, and
 * there is no policy that could make an exception.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': PAGE_CACHE,
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/**
 * The web console: a page and its files, without credentials (C3.16) and in every state. What it does goes through the
 * other routes, with the credential of who uses it.
 * @param files absent for those of the build.
 */
export function consoleRoutes(files: ConsoleFiles = new ConsoleFiles()): readonly PlainRoute[] {
  const page = (exchange: Exchange): void => {
    if (exchange.endsWithSlash) {
      // The links of the page are relative, since the server may be below a path of a proxy.
      exchange.sendEmpty(308, { Location: '../console', 'Content-Length': '0' });
    } else {
      send(exchange, files.page, PAGE_HEADERS);
    }
  };
  const file = (exchange: Exchange): void => {
    const found = files.find(exchange.path.slice(FOLDER.length));
    if (found === undefined) {
      exchange.fail(routeNotFound(exchange.method, exchange.path));
    } else {
      send(exchange, found, { 'Cache-Control': FILE_CACHE, 'Cross-Origin-Resource-Policy': 'same-origin' });
    }
  };
  return [plain('/console', page), plain(`${FOLDER}:file`, file)];
}

function plain(path: string, answer: PlainRoute['answer']): PlainRoute {
  return { kind: 'plain', method: 'GET', path, permission: 'none', answer };
}

/** Answers with a file, in the shortest form that the client takes. */
function send(exchange: Exchange, file: StaticFile, headers: Readonly<Record<string, string>>): void {
  const accepted = exchange.request.headers['accept-encoding'];
  const coding = (['br', 'gzip'] as const).find((name) => acceptsCoding(accepted, name));
  exchange.sendFile(coding === undefined ? file.plain : file[coding], {
    'Content-Type': file.contentType,
    ...(coding !== undefined && { 'Content-Encoding': coding }),
    Vary: 'Accept-Encoding',
    ...headers,
  });
}
