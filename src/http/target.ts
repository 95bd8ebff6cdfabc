/** A request target, split and brought into the one form that both matchers read. */
export interface Target {
  /** Still percent-encoded, without trailing slashes. */
  readonly path: string;
  /** Without `?`. */
  readonly queryString: string;
}

/**
 * Splits a request target. Absolute-form targets lose scheme and authority, and a fragment is dropped. Node's parser
 * has refused what is not ASCII.
 */
export function parseTarget(url: string): Target {
  let target = url;
  if (!target.startsWith('/')) {
    target = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
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
  path = end === path.length ? path : path.slice(0, end);
  return { path, queryString };
}

/** Decodes path parameters once; undefined when one is not well-formed percent-encoded UTF-8. */
export function decodeParams(raw: Readonly<Record<string, string>>): Record<string, string> | undefined {
  const decoded: Record<string, string> = {};
  try {
    for (const [name, value] of Object.entries(raw)) {
      decoded[name] = value.includes('%') ? decodeURIComponent(value) : value;
    }
  } catch {
    return undefined;
  }
  return decoded;
}
