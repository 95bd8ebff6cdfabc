/** X.509 certificates (RFC 5280) with keys of the curve P-256: an authority of its own, and what it signs. */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import * as der from './der';

/** A certificate and its key, as PEM text. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

const ECDSA_WITH_SHA256 = der.sequence(der.identifier('1.2.840.10045.4.3.2'));
const COMMON_NAME = der.identifier('2.5.4.3');
const SERVER_AND_CLIENT = der.sequence(
  der.identifier('1.3.6.1.5.5.7.3.1'),
  der.identifier('1.3.6.1.5.5.7.3.2'),
);
/** Clocks of other machines may be behind. */
const BEFORE_MS = 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Bits of the key's usage, the highest first: of an authority, signing certificates and lists of revoked ones. */
const SIGNS_CERTIFICATES = der.bits(Buffer.of(0b0000_0110), 1);
const SIGNS_HANDSHAKES = der.bits(Buffer.of(0b1000_0000), 7);

interface Request {
  readonly name: string;
  readonly issuer: string;
  readonly keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly signer: KeyObject;
  readonly days: number;
  readonly extensions: readonly Buffer[];
}

/** An authority that signs itself. */
export function makeAuthority(name: string, days: number): Certified {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [
    extension('2.5.29.19', true, der.sequence(der.boolean(true), der.integer(Buffer.of(0)))),
    extension('2.5.29.15', true, SIGNS_CERTIFICATES),
    extension('2.5.29.14', false, der.octets(keyIdentifier(keys.publicKey))),
  ];
  return certify({ name, issuer: name, keys, signer: keys.privateKey, days, extensions });
}

/** A certificate for servers and clients whose common name and DNS name are one. */
export function signCertificate(authority: Certified, name: string, days: number): Certified {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ca = new X509Certificate(authority.cert);
  const extensions = [
    extension('2.5.29.19', true, der.sequence()),
    extension('2.5.29.15', true, SIGNS_HANDSHAKES),
    extension('2.5.29.37', false, SERVER_AND_CLIENT),
    extension('2.5.29.17', false, der.sequence(der.implicit(2, Buffer.from(name)))),
    extension('2.5.29.35', false, der.sequence(der.implicit(0, keyIdentifier(ca.publicKey)))),
  ];
  const issuer = /^CN=(.+)$/m.exec(ca.subject)?.[1] ?? '';
  const signer = createPrivateKey(authority.key);
  return certify({ name, issuer, keys, signer, days, extensions });
}

function certify({ name, issuer, keys, signer, days, extensions }: Request): Certified {
  const now = Date.now();
  const serial = randomBytes(16);
  // Positive, and without zeros at its beginning.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const content = der.sequence(
    der.explicit(0, der.integer(Buffer.of(2))),
    der.integer(serial),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    der.sequence(der.time(new Date(now - BEFORE_MS)), der.time(new Date(now + days * DAY_MS))),
    nameOf(name),
    spkiOf(keys.publicKey),
    der.explicit(3, der.sequence(...extensions)),
  );
  const whole = der.sequence(content, ECDSA_WITH_SHA256, der.bits(sign('sha256', content, signer)));
  return {
    cert: pem('CERTIFICATE', whole),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function nameOf(commonName: string): Buffer {
  return der.sequence(der.set(der.sequence(COMMON_NAME, der.text(commonName))));
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [der.boolean(true)] : [];
  return der.sequence(der.identifier(id), ...critical, der.octets(value));
}

function spkiOf(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash('sha256').update(spkiOf(key)).digest().subarray(0, 20);
}

function pem(kind: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${kind}-----`, ...lines, `-----END ${kind}-----`, ''].join('\n');
}
