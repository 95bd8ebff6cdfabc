/** The distinguished encoding (DER) of ITU-T X.690, as far as certificates need it. */

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  identifier: 0x06,
  text: 0x0c,
  utcTime: 0x17,
  time: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

function encoded(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  const head = length < 0x80 ? [tag, length] : [tag, 0x80 | bytes.length, ...bytes];
  return Buffer.concat([Buffer.from(head), content]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return encoded(TAG.sequence, Buffer.concat(parts));
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return encoded(TAG.set, Buffer.concat(parts));
}

/** A field with a tag of its context, which holds what is encoded by itself. */
export function explicit(number: number, ...parts: readonly Uint8Array[]): Buffer {
  return encoded(0xa0 | number, Buffer.concat(parts));
}

/** A field whose tag is in place of that of its type. */
export function implicit(number: number, content: Uint8Array): Buffer {
  return encoded(0x80 | number, content);
}

/** A positive integer of big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  return encoded(TAG.integer, isNegative ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}

export function boolean(value: boolean): Buffer {
  return encoded(TAG.boolean, Buffer.of(value ? 0xff : 0));
}

/** Bits of whole bytes, but for some unused ones at the end. */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return encoded(TAG.bits, Buffer.concat([Buffer.of(unused), content]));
}

export function octets(content: Uint8Array): Buffer {
  return encoded(TAG.octets, content);
}

export function text(value: string): Buffer {
  return encoded(TAG.text, Buffer.from(value));
}

/** A point in time, in whole seconds; years up to 2049 have two digits. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/\.\d+Z|[-:T]/g, '');
  return date.getUTCFullYear() < 2050
    ? encoded(TAG.utcTime, Buffer.from(`${digits.slice(2)}Z`))
    : encoded(TAG.time, Buffer.from(`${digits}Z`));
}

/** An object identifier such as `2.5.4.3`. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return encoded(TAG.identifier, Buffer.from([40 * first + second, ...others].flatMap(base128)));
}

function base128(number: number): number[] {
  const digits = [number % 128];
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift(0x80 | (rest % 128));
  }
  return digits;
}
