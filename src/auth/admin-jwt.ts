import { createSecretKey, randomUUID, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';

const ISSUER = 'kithdb';
const AUDIENCE = 'kithdb';
const SUBJECT = 'admin';
/** The claim that names the password generation. */
const GENERATION = 'gen';
/** Longer texts are refused without parsing; the JWTs issued here have about 330 characters. */
const MAX_CHARACTERS = 4096;
/** How far in the future a JWT may have been issued: clocks are sometimes set back a little. */
const LEEWAY_SECONDS = 5;
/** The JWTs issued here have no other header parameter: `crit`, `jwk`, `jku`, `x5u`, `kid` and all others are refused. */
const HEADER_PARAMETERS: ReadonlySet<string> = new Set(['alg', 'typ']);

/** Issues and verifies the admin's JWTs (C3.5). */
export class AdminJwt {
  #key: KeyObject;

  /**
   * @param secret its UTF-8 bytes are the HMAC key
   * @param now milliseconds since 1970
   */
  constructor(
    secret: string,
    private readonly lifetimeSeconds: number,
    private readonly now: () => number,
  ) {
    this.#key = keyOf(secret);
  }

  /** Signs with another secret from now on: every JWT issued before is invalid. */
  replaceSecret(secret: string): void {
    this.#key = keyOf(secret);
  }

  /** A JWT that is valid until the password generation changes or its lifetime is over. */
  issue(generation: string): string {
    const iat = Math.floor(this.now() / 1000);
    return jwt.sign({ iat, exp: iat + this.lifetimeSeconds, [GENERATION]: generation }, this.#key, {
      algorithm: 'HS256',
      issuer: ISSUER,
      audience: AUDIENCE,
      subject: SUBJECT,
      jwtid: randomUUID(),
    });
  }

  /** Whether a text is a JWT issued here that is valid under this password generation. */
  verify(token: string, generation: string): boolean {
    if (token.length > MAX_CHARACTERS) {
      return false;
    }
    const nowSeconds = Math.floor(this.now() / 1000);
    let verified: jwt.Jwt;
    try {
      verified = jwt.verify(token, this.#key, {
        algorithms: ['HS256'],
        issuer: ISSUER,
        audience: AUDIENCE,
        subject: SUBJECT,
        clockTimestamp: nowSeconds,
        complete: true,
      });
    } catch {
      return false;
    }
    const { header, payload } = verified;
    return (
      Object.keys(header).every((parameter) => HEADER_PARAMETERS.has(parameter)) &&
      typeof payload === 'object' &&
      typeof payload.exp === 'number' &&
      typeof payload.iat === 'number' &&
      payload.iat <= nowSeconds + LEEWAY_SECONDS &&
      payload.exp - payload.iat <= this.lifetimeSeconds &&
      typeof payload.jti === 'string' &&
      payload.jti !== '' &&
      payload[GENERATION] === generation
    );
  }
}

/** Made once for each secret: given a string, every verification would first try to parse it as a public key. */
function keyOf(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret));
}
