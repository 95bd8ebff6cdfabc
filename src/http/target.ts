/** A request target, split and normalised for both matchers. */
export interface Target {
  /** Still percent-encoded, without trailing slashes. */
  readonly path: string;
  /** Whether there were any. */
  readonly endsWithSlash: boolean;
  /** Without `?`. */
  readonly queryString: string;
}

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

/** The authority of an absolute-form target, as sent to proxies; undefined in the usual form. */
export function authorityOf(url: string): string | undefined {
  return url.startsWith('/') ? undefined : ABSOLUTE.exec(url)?.[1];
}

/**
 * Splits a request target. Absolute-form targets lose scheme and authority, and a fragment is dropped. Node's parser
 * refuses what is not ASCII.
 */
export function parseTarget(url: string): Target {
  let target = url;
  if (!target.startsWith('/')) {
    target = target.replace(ABSOLUTE, '');
    target = target.startsWith('/') ? target : `/${target}`;
  }
  const fragment = target.indexOf('#');
  target = fragment === -1 ? target : target.slice(0, fragment);
  const question = target.indexOf('?');
  let path = question === -1 ? target : target.slice(0, question);
  const queryString = question === -1 ? '' : target.slice(question + 1);
  let end = path.length;
  while (end > 1 && path.charCodeAt(end - 1) === 0x2f) {
    end -= 1;
  }
  const endsWithSlash = end < path.length;
  path = endsWithSlash ? path.slice(0, end) : path;
  return { path, endsWithSlash, queryString };
}

/** The parameters of a path. */
export interface PathParams {
  /** Percent-decoded once, or as they were sent where that is impossible. */
  readonly values: Readonly<Record<string, string>>;
  /** The names of those that are not well-formed percent-encoded UTF-8. */
  readonly undecodable: readonly string[];
}

/** Decodes path parameters once. */
export function decodeParams(raw: Readonly<Record<string, string>>): PathParams {
  const values: Record<string, string> = {};
  const undecodable: string[] = [];
  for (const [name, value] of Object.entries(raw)) {
    try {
      values[name] = value.includes('%') ? decodeURIComponent(value) : value;
    } catch {
      values[name] = value;
      undecodable.push(name);
    }
  }
  return { values, undecodable };
}
