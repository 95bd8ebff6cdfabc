import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import { Server as SecureServer } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from 'pino';

/** Certificate chain and key, as PEM text. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** Certificate and key, and the paths of the files that they were read from. */
export interface TlsFiles extends TlsMaterial {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Time between two looks at the files. */
const LOOK_MS = 5000;
/** A certificate chain or a key is a few kilobytes. */
const MAX_PEM_BYTES = 1024 * 1024;

/**
 * The options under which a server speaks TLS (1.2 or later).
 * @throws Error that says why, where the certificate and the key cannot be used together.
 */
export function secureOptions({ cert, key }: TlsMaterial): SecureContextOptions {
  const options = { cert, key, minVersion: 'TLSv1.2' } as const;
  createSecureContext(options);
  // OpenSSL keeps a certificate and a key of different kinds apart, and would fail only at a handshake.
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error('the key does not belong to the certificate');
  }
  return options;
}

/** The certificate of a server that listens. */
export interface Certificate {
  /** Reads certificate and key now (SIGHUP), and logs what became of it. */
  readAgain(): Promise<void>;
  /** Resolves when no look is under way any more. */
  close(): Promise<void>;
}

/** How a certificate is kept. */
export interface KeepingOptions {
  /** Time between two looks at the files. */
  readonly lookMs?: number | undefined;
  /** The servers of other event loops, which take the same. */
  readonly others?: { useCertificate(material: TlsMaterial): Promise<void> } | undefined;
}

/**
 * Keeps the certificate of a server as its files are (C11.5). Undefined for a server without TLS.
 *
 * The content of the files is compared, every few seconds. Events of the file system would not do: they are lost where a
 * link on the way to a file is replaced, as Kubernetes does, and on network file systems.
 */
export function keepCertificate(
  server: HttpServer,
  tls: TlsFiles | undefined,
  log: Logger,
  { lookMs = LOOK_MS, others }: KeepingOptions = {},
): Certificate | undefined {
  if (tls === undefined || !isSecure(server)) {
    return undefined;
  }
  const kept = new KeptCertificate(server, tls, log, others);
  const timer = setInterval(() => {
    void kept.look();
  }, lookMs).unref();
  return {
    readAgain: () => kept.readAgain(),
    close: () => {
      clearInterval(timer);
      return kept.settled();
    },
  };
}

/** What was read of the two files: the pair, or why there is none. */
type Found = TlsMaterial | { readonly problem: string };

class KeptCertificate {
  /** The pair in use. */
  #used: string;
  /** What the last look found that cannot be used, and whether that is in the log. */
  #refused: { readonly found: string; readonly reason: string; isLogged: boolean } | undefined;
  /** One look at a time. */
  #last: Promise<void> = Promise.resolve();

  constructor(
    private readonly server: SecureServer,
    private readonly tls: TlsFiles,
    private readonly log: Logger,
    private readonly others: KeepingOptions['others'],
  ) {
    this.#used = textOf(tls);
  }

  /** Takes a pair that has changed. One that does not fit is reported by the second look: both files change in turn. */
  look(): Promise<void> {
    return this.#serially(async () => {
      const found = await this.#read();
      const text = textOf(found);
      if (text === this.#used) {
        this.#refused = undefined;
        return;
      }
      if (text === this.#refused?.found) {
        this.#report();
      } else {
        await this.#take(found, text);
      }
    });
  }

  readAgain(): Promise<void> {
    return this.#serially(async () => {
      const found = await this.#read();
      const text = textOf(found);
      if (text === this.#used) {
        this.#refused = undefined;
        this.log.info('certificate and key were read again, and are as they were');
        return;
      }
      this.#refused = undefined;
      await this.#take(found, text);
      this.#report();
    });
  }

  settled(): Promise<void> {
    return this.#last;
  }

  #serially(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work);
    return this.#last;
  }

  async #read(): Promise<Found> {
    try {
      return { cert: await pemOf(this.tls.certFile), key: await pemOf(this.tls.keyFile) };
    } catch (error) {
      return { problem: (error as Error).message };
    }
  }

  async #take(found: Found, text: string): Promise<void> {
    const reason = this.#use(found);
    if (reason === undefined) {
      this.#used = text;
      this.#refused = undefined;
      await this.others?.useCertificate(found as TlsMaterial);
      const { validTo, fingerprint256 } = new X509Certificate((found as TlsMaterial).cert);
      this.log.info({ validTo, fingerprint256 }, 'the certificate was replaced: new connections get it');
    } else {
      this.#refused = { found: text, reason, isLogged: false };
    }
  }

  /** Why what was found cannot be used; undefined where it is in use now. */
  #use(found: Found): string | undefined {
    if ('problem' in found) {
      return found.problem;
    }
    try {
      this.server.setSecureContext(secureOptions(found));
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #report(): void {
    if (this.#refused === undefined || this.#refused.isLogged) {
      return;
    }
    this.#refused.isLogged = true;
    const { certFile, keyFile } = this.tls;
    this.log.error(
      { certFile, keyFile, reason: this.#refused.reason },
      'certificate and key cannot be used: the ones from before stay in use',
    );
  }
}

/** What tells one finding from another. */
function textOf(found: Found): string {
  return 'problem' in found ? found.problem : `${found.cert}\0${found.key}`;
}

async function pemOf(path: string): Promise<string> {
  const found = await stat(path);
  // Reading a pipe would wait for whoever writes into it.
  if (!found.isFile() || found.size > MAX_PEM_BYTES) {
    throw new Error(`${path} is no file of at most ${MAX_PEM_BYTES} bytes`);
  }
  return readFile(path, 'utf8');
}

function isSecure(server: HttpServer): server is SecureServer {
  return server instanceof SecureServer;
}
