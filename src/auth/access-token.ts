import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'kith_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 43 characters of base62 hold 256 bits. */
const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;
const SHAPE = /^kith_[0-9A-Za-z]{49}$/;
/** The largest multiple of 62 that fits a byte: larger bytes are discarded, so that every character is equally likely. */
const UNBIASED_BYTES = 248;

/** A token that an operator chose may have spaces in it. */
const BEARER = /^bearer +(\S(?:.*\S)?) *$/i;

/** The headers of a request that carry a credential. */
export interface Credential {
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
}

/** The credential of a request; with both headers, `Authorization` counts (C3.1). */
export function tokenIn({ authorization, apiKey }: Credential): string | undefined {
  return authorization === undefined ? apiKey : BEARER.exec(authorization)?.[1];
}

/** A new raw token (C3.10); the caller keeps only its digest. */
export function generateToken(): string {
  let body = '';
  while (body.length < RANDOM_CHARACTERS) {
    for (const byte of randomBytes(RANDOM_CHARACTERS - body.length + 8)) {
      if (byte < UNBIASED_BYTES && body.length < RANDOM_CHARACTERS) {
        body += ALPHABET.charAt(byte % ALPHABET.length);
      }
    }
  }
  return PREFIX + body + checksum(body);
}

/**
 * Whether a text has the shape and the checksum of a token, so that a mistyped one needs no query. It may never have
 * been issued.
 */
export function isWellFormedToken(text: string): boolean {
  if (!SHAPE.test(text)) {
    return false;
  }
  const body = text.slice(PREFIX.length, PREFIX.length + RANDOM_CHARACTERS);
  return text.endsWith(checksum(body));
}

/** SHA-256 without a salt or a slow hash: a token has 256 random bits. */
export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

/** CRC32 (IEEE) of the random characters in base62, zero-padded. */
export function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let place = 0; place < CHECKSUM_CHARACTERS; place++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
