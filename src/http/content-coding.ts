/** Content codings (C1.12): `gzip`, and none. */

/** How a body is coded. */
export type BodyCoding = 'identity' | 'gzip';

/** The coding of a request's body; undefined for one that is not read. */
export function bodyCoding(contentEncoding: string | undefined): BodyCoding | undefined {
  const name = contentEncoding?.trim().toLowerCase() ?? 'identity';
  return name === 'gzip' || name === 'identity' ? name : undefined;
}

/** Longer headers are not looked at: no client needs one. */
const LONGEST_ACCEPT = 1024;

/** Codings of answers. */
export type AnswerCoding = 'gzip' | 'br';

/** `;q=` and a weight of zero. */
const REFUSED = /;\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)/i;

/** Whether `Accept-Encoding` asks for gzip. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return acceptsCoding(acceptEncoding, 'gzip');
}

/** Whether `Accept-Encoding` asks for a coding: by its name, or by `*` where it is not named, with a weight above zero. */
export function acceptsCoding(acceptEncoding: string | string[] | undefined, coding: AnswerCoding): boolean {
  if (typeof acceptEncoding !== 'string' || acceptEncoding.length > LONGEST_ACCEPT) {
    return false;
  }
  let anything = false;
  for (const entry of acceptEncoding.split(',')) {
    const name = entry.split(';', 1)[0]?.trim().toLowerCase();
    if (name === coding) {
      return !REFUSED.test(entry);
    }
    anything ||= name === '*' && !REFUSED.test(entry);
  }
  return anything;
}
