import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PeerTls } from '../../src/cluster/peers/security';

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(...argv: readonly string[]): void {
  execFileSync('openssl', argv, { stdio: 'pipe' });
}

/** An authority that signs certificates of nodes, in a folder. */
export class Authority {
  readonly #path: (file: string) => string;
  #signed = 0;

  constructor(folder: string, name: string) {
    this.#path = (file) => join(folder, `${name}-${file}`);
    const out = ['-keyout', this.#path('ca.key'), '-out', this.#path('ca.crt')];
    openssl('req', '-x509', ...EC, '-days', '2', '-subj', `/CN=${name}`, ...out);
  }

  get pem(): string {
    return readFileSync(this.#path('ca.crt'), 'utf8');
  }

  /** What a node has: its subject, such as `/CN=prod`, and names in `subjectAltName`; it takes the cluster to have `name`. */
  sign(name: string, subject: string, alternative?: string, extended?: string): PeerTls {
    this.#signed += 1;
    const [key, request, cert, extensions] = ['key', 'csr', 'crt', 'ext'].map((kind) =>
      this.#path(`${this.#signed}.${kind}`),
    ) as [string, string, string, string];
    openssl('req', ...EC, '-subj', subject, '-keyout', key, '-out', request);
    const lines = [
      'basicConstraints=CA:FALSE',
      ...(alternative === undefined ? [] : [`subjectAltName=${alternative}`]),
      ...(extended === undefined ? [] : [`extendedKeyUsage=${extended}`]),
    ];
    writeFileSync(extensions, lines.join('\n'));
    const by = ['-CA', this.#path('ca.crt'), '-CAkey', this.#path('ca.key'), '-CAcreateserial'];
    openssl('x509', '-req', '-in', request, ...by, '-days', '2', '-extfile', extensions, '-out', cert);
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8'), ca: this.pem, name };
  }
}
