import { isIP, isIPv4 } from 'node:net';

/**
 * What one line of the settings table is. From its key come its other names: `maxBodyBytes` is `--max-body-bytes`,
 * `KITHDB_MAX_BODY_BYTES` and `max_body_bytes` in the file.
 */
export interface Setting<T> {
  readonly group: SettingGroup;
  /** Reads the text of a flag or a variable, or the scalar or list of a file. @throws BadValue */
  readonly parse: (raw: RawValue) => T;
  /** The value when no source gives one; undefined where absence means something. */
  readonly fallback: T;
  /** The fallback as help and documentation show it. */
  readonly fallbackText: string;
  /** What the value looks like: `N`, `ADDRESS`, `true|false`. */
  readonly placeholder: string;
  /** One or two sentences without a line break. */
  readonly about: string;
  /** A switch: its flag needs no value. */
  readonly isSwitch?: boolean;
  /** Never a flag, never printed; `…_FILE` forms name a file that holds it. */
  readonly secret?: boolean;
  /** Ignored once what it creates exists: then a file of it that cannot be read is not an error. */
  readonly onceOnly?: boolean;
  /** Further environment variables with the same meaning. */
  readonly aliases?: readonly string[];
  /** Its value in the file may be any YAML: it is parsed as JSON text. */
  readonly isStructured?: boolean;
  /** Of a setting some values of which are paths: whether this one is. Where all are, the placeholder says so. */
  readonly isPath?: (value: string) => boolean;
  /** Not allowed in the file, because it says which file to read. */
  readonly notInFile?: boolean;
}

/** The headings of help and documentation. */
export type SettingGroup = 'Server' | 'Authentication' | 'Cluster' | 'Data' | 'Logging' | 'Limits';

/** A value before it is parsed. */
export type RawValue = string | number | boolean | readonly string[];

/** Why a value is refused: completes the sentence "`--port` must be …". */
export class BadValue extends Error {
  override readonly name = 'BadValue';
}

/** A text that is not blank. A whole number, which YAML makes of digits, is one too. */
export function parseText(raw: RawValue): string {
  if (typeof raw === 'number' && Number.isSafeInteger(raw)) {
    return String(raw);
  }
  requireText(raw);
  if (raw.trim() === '') {
    throw new BadValue('a text that is not empty');
  }
  return raw;
}

/** YAML reads some texts as numbers, switches or lists unless they are quoted. */
function requireText(raw: RawValue): asserts raw is string {
  if (typeof raw !== 'string') {
    throw new BadValue('a text: put it in quotes');
  }
}

/** A whole number between two bounds, both allowed. */
export function wholeNumber(lowest: number, highest: number): (raw: RawValue) => number {
  return (raw) => {
    const value =
      typeof raw === 'number'
        ? raw
        : typeof raw === 'string' && /^\d{1,16}$/.test(raw.trim())
          ? Number(raw)
          : NaN;
    if (!Number.isInteger(value) || value < lowest || value > highest) {
      throw new BadValue(`a whole number from ${lowest} to ${highest}`);
    }
    return value;
  };
}

const TRUE_WORDS: ReadonlySet<string> = new Set(['true', '1', 'yes', 'on']);
const FALSE_WORDS: ReadonlySet<string> = new Set(['false', '0', 'no', 'off']);

/** True or false, in the spellings that environment variables use. */
export function parseSwitch(raw: RawValue): boolean {
  if (typeof raw === 'boolean') {
    return raw;
  }
  const word = String(raw).trim().toLowerCase();
  if (TRUE_WORDS.has(word)) {
    return true;
  }
  if (FALSE_WORDS.has(word)) {
    return false;
  }
  throw new BadValue('true or false');
}

/** One of a few words. */
export function oneOf<const W extends string>(...words: readonly W[]): (raw: RawValue) => W {
  return (raw) => {
    const word = words.find((candidate) => candidate === raw);
    if (word === undefined) {
      throw new BadValue(`one of ${words.join(', ')}`);
    }
    return word;
  };
}

/** The texts of a list: separated by commas, or a list in the file. */
function parseList(raw: RawValue): readonly string[] {
  const listed = Array.isArray(raw) ? (raw as readonly string[]) : String(raw).split(',');
  return listed.map((text) => text.trim()).filter((text) => text !== '');
}

/** How the text of a YAML list begins. */
const YAML_LIST = /^\s*(?:\[|-\s)/;

/** Whether a text is a YAML list; where a setting takes one, any other text is the path of a file with it. */
export function isYamlList(text: string): boolean {
  return YAML_LIST.test(text);
}

/** Blocks of addresses such as `10.0.0.0/8`, separated by commas or as a list in the file; an address is a block of one. */
export function parseBlocks(raw: RawValue): readonly string[] {
  const blocks = parseList(raw).map((text) => {
    const [address = '', prefix, ...more] = text.split('/');
    const bits = isIPv4(address) ? 32 : 128;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
    if (isIP(address) === 0 || address.includes('%') || !(length <= bits) || more.length > 0) {
      throw new BadValue('a list of address blocks such as 10.0.0.0/8 or 2001:db8::/32');
    }
    return `${address}/${length}`;
  });
  return [...new Set(blocks)];
}

/** Names of file systems such as `nfs` or `fuse.sshfs`: separated by commas, or a list in the file. */
export function parseFileSystems(raw: RawValue): readonly string[] {
  const names = parseList(raw).map((name) => name.toLowerCase());
  if (!names.every((name) => /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name))) {
    throw new BadValue('a list of names of file systems such as nfs or fuse.sshfs');
  }
  return [...new Set(names)];
}

/** Web origins such as `https://app.example.com`: separated by commas, or a list in the file. */
export function parseOrigins(raw: RawValue): readonly string[] {
  const origins = parseList(raw);
  for (const origin of origins) {
    const sent = originOf(origin);
    if (sent === undefined) {
      throw new BadValue(
        'a list of web origins such as https://app.example.com, without a path or a wildcard',
      );
    }
    if (sent !== origin) {
      throw new BadValue(`a list of web origins as browsers send them: ${sent} in place of ${origin}`);
    }
  }
  return [...new Set(origins)];
}

/** An origin as browsers send it: in small letters, without a default port. Undefined for a URL that has more than an origin. */
function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
    ? url.origin
    : undefined;
}

/**
 * A raw access token that an operator chose. It is sent in a header, which has no spaces at its ends.
 */
export function parseAccessToken(raw: RawValue): string {
  requireText(raw);
  if (!/^[\x20-\x7e]{24,256}$/.test(raw) || raw !== raw.trim()) {
    throw new BadValue('24 to 256 printable characters of ASCII, with no space at either end');
  }
  return raw;
}

/** What such a token may do: `read`, `write`, or both. */
export function parseTokenPermission(raw: RawValue): 'read' | 'write' | 'read,write' {
  switch ([...new Set(parseList(raw))].sort().join(',')) {
    case 'read':
      return 'read';
    case 'write':
      return 'write';
    case 'read,write':
      return 'read,write';
    default:
      throw new BadValue('read, write, or read,write');
  }
}

/** A secret, byte for byte: spaces belong to it. Not every store can hold a NUL. */
export function parseSecret(raw: RawValue): string {
  requireText(raw);
  if (raw === '' || raw.includes('\0')) {
    throw new BadValue('a text that is not empty and has no NUL');
  }
  return raw;
}
