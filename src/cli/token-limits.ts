import type { LimitFields } from '../auth/limits';
import { encodeJson } from '../client/json';
import { reasonOf } from '../files/explained';
import { CommandError, EXIT } from './console';
import { optionalFlag } from './flags';
import type { GivenFlags } from './verbs';

type Grant = NonNullable<LimitFields['collections']>[number];

/** What a new access token may reach, by the flags `--collections` and `--filter` (C15). @throws CommandError */
export function limitsOf(flags: GivenFlags): LimitFields {
  const list = optionalFlag(flags, 'collections');
  const filter = optionalFlag(flags, 'filter');
  return {
    ...(list !== undefined && { collections: list.split(',').map((entry) => grantOf(entry.trim())) }),
    ...(filter !== undefined && { filter: filterOf(filter) }),
  };
}

/** `docs`, `docs:read` or `tenant-*:read+write`: no name of a collection has a colon or an asterisk (C2.2). */
function grantOf(entry: string): Grant {
  const [, text = '', star, rights = 'read+write'] = /^([^:*]+)(\*)?(?::([a-z+]+))?$/.exec(entry) ?? [];
  if (text === '') {
    throw new CommandError(
      `--collections must be names such as docs:read or tenant-*:read+write, not ${JSON.stringify(entry)}`,
      EXIT.usage,
    );
  }
  const permission = rights.replaceAll('+', ',');
  return star === undefined ? { name: text, permission } : { prefix: text, permission };
}

function filterOf(text: string): object {
  let reason = '';
  try {
    const value: unknown = JSON.parse(text);
    // A number beyond the floats was read as an infinite one.
    encodeJson(value);
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    reason = `: ${reasonOf(error)}`;
  }
  throw new CommandError(`--filter must be a JSON object${reason}`, EXIT.usage);
}

/** The limits of a token in one line; empty for a token without. */
export function shownLimits({ collections, filter }: LimitFields): string {
  const grants = collections?.map(({ name, prefix, permission }) => {
    const rights = permission.replaceAll(',', '+');
    return `${name ?? `${prefix ?? ''}*`}:${rights}`;
  });
  return [...(grants ?? []), ...(filter === undefined ? [] : ['filter'])].join(', ');
}
