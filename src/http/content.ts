import type { IncomingMessage } from 'node:http';

type Headers = Pick<IncomingMessage, 'headers'>;

/** The length of the body that a request announces; 0 without one, undefined for a chunked one. */
export function announcedLength({ headers }: Headers): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

/** Whether a request announces a body. */
export function hasBody(request: Headers): boolean {
  return announcedLength(request) !== 0;
}

/** The type of an Arrow IPC stream. */
export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

/** Whether a `Content-Type` means an Arrow IPC stream. Parameters have no effect. */
export function isArrow(contentType: string | undefined): boolean {
  return mediaType(contentType) === ARROW_STREAM;
}

/** The type of lines of JSON. */
export const JSON_LINES = 'application/x-ndjson';

/** Whether a `Content-Type` means lines of JSON. Parameters have no effect. */
export function isJsonLines(contentType: string | undefined): boolean {
  return mediaType(contentType) === JSON_LINES;
}

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase();
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
/** One parameter with its semicolon. The expression is unambiguous, so that matching takes linear time. */
const PARAMETER = `;\\s*(?:(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")\\s*)?`;
const PARAMETERS = new RegExp(`^(?:${PARAMETER})*$`);

/** Whether a `Content-Type` means JSON in UTF-8. Parameters other than the charset have no effect. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') {
    return true;
  }
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    return false;
  }
  const semicolon = contentType.indexOf(';');
  if (semicolon === -1) {
    return true;
  }
  const parameters = contentType.slice(semicolon);
  return (
    PARAMETERS.test(parameters) &&
    [...parameters.matchAll(new RegExp(PARAMETER, 'g'))].every(
      ([, name, token, quoted]) =>
        name?.toLowerCase() !== 'charset' || /^utf-?8$/i.test(token ?? quoted ?? ''),
    )
  );
}
