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
  const { certFile, keyFile } = tls;
  return watchPems(
    {
      files: { certFile, keyFile },
      used: [tls.cert, tls.key],
      use: async ([cert = '', key = '']) => {
        server.setSecureContext(secureOptions({ cert, key }));
        await others?.useCertificate({ cert, key });
      },
    },
    log,
    lookMs,
  );
}

/** Files of a certificate, its key and what else belongs to it, which are used together. */
export interface PemFiles {
  /** Their paths, by the names that the log gives them; the certificate is first. */
  readonly files: Readonly<Record<string, string>>;
  /** Their texts that are in use, in the same order. */
  readonly used: readonly string[];
  /** Takes other texts. Throws, or rejects, with why they cannot be used. */
  readonly use: (texts: readonly string[]) => void | Promise<void>;
}

/** Looks at files again and again, and has them used as they are. */
export function watchPems(pems: PemFiles, log: Logger, lookMs = LOOK_MS): Certificate {
  const watched = new WatchedPems(pems, log);
  const timer = setInterval(() => {
    void watched.look();
  }, lookMs).unref();
  return {
    readAgain: () => watched.readAgain(),
    close: () => {
      clearInterval(timer);
      return watched.settled();
    },
  };
}

/** What was read of the files: their texts, or why there are none. */
type Found = readonly string[] | { readonly problem: string };

class WatchedPems {
  /** The texts in use. */
  #used: string;
  /** What the last look found that cannot be used, and whether that is in the log. */
  #refused: { readonly found: string; readonly reason: string; isLogged: boolean } | undefined;
  /** One look at a time. */
  #last: Promise<void> = Promise.resolve();

  constructor(
    private readonly pems: PemFiles,
    private readonly log: Logger,
  ) {
    this.#used = textOf(pems.used);
  }

  /** Takes files that have changed. Those that do not fit are reported by the second look: they change in turn. */
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
      const texts: string[] = [];
      for (const path of Object.values(this.pems.files)) texts.push(await pemOf(path));
      return texts;
    } catch (error) {
      return { problem: (error as Error).message };
    }
  }

  async #take(found: Found, text: string): Promise<void> {
    const reason = await this.#use(found);
    if (reason === undefined) {
      this.#used = text;
      this.#refused = undefined;
      const { validTo, fingerprint256 } = new X509Certificate((found as readonly string[])[0] ?? '');
      this.log.info({ validTo, fingerprint256 }, 'the certificate was replaced: new connections get it');
    } else {
      this.#refused = { found: text, reason, isLogged: false };
    }
  }

  /** Why what was found cannot be used; undefined where it is in use now. */
  async #use(found: Found): Promise<string | undefined> {
    if ('problem' in found) {
      return found.problem;
    }
    try {
      await this.pems.use(found);
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
    this.log.error(
      { ...this.pems.files, reason: this.#refused.reason },
      'certificate and key cannot be used: the ones from before stay in use',
    );
  }
}

/** What tells one finding from another. */
function textOf(found: Found): string {
  return 'problem' in found ? found.problem : found.join('\0');
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
