import { randomBytes } from 'node:crypto';
import type { Options } from '@node-rs/argon2';

/** Argon2id at 64 MiB and three passes: about 60 ms of one core. */
const MEMORY_KIB = 64 * 1024;
const PASSES = 3;
const LANES = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const PARAMETERS = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$`;
const OPTIONS: Options = {
  memoryCost: MEMORY_KIB,
  timeCost: PASSES,
  parallelism: LANES,
  outputLen: HASH_BYTES,
};

/** Hashes that run at the same time: each takes a thread of libuv's pool, which SQLite and files need too. */
const MOST_RUNNING = 2;
const MOST_WAITING = 8;

/** Too many hashes are waiting already: the answer is a 429. */
export class HashingBusy extends Error {
  override readonly name = 'HashingBusy';

  constructor() {
    super('Too many password checks in progress');
  }
}

/** Hashes and verifies passwords, a bounded number at a time. */
export interface PasswordHasher {
  /** A PHC string. @throws HashingBusy */
  hash(password: string): Promise<string>;
  /**
   * Whether the password belongs to the hash. Without a hash the answer is false and takes as long, so that the time does
   * not reveal whether there is an admin.
   * @throws HashingBusy
   */
  verify(hash: string | undefined, password: string): Promise<boolean>;
  /** Whether a hash was made with other parameters than the current ones. */
  isOutdated(hash: string): boolean;
}

/** Argon2id on libuv's thread pool. */
export class LocalPasswordHasher implements PasswordHasher {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #dummy = dummyHash();

  async hash(password: string): Promise<string> {
    return this.#admitted(async () => {
      const { hash } = await import('@node-rs/argon2');
      return hash(Buffer.from(password), OPTIONS);
    });
  }

  async verify(hash: string | undefined, password: string): Promise<boolean> {
    return this.#admitted(async () => {
      const { verify } = await import('@node-rs/argon2');
      const matches = await verify(hash ?? this.#dummy, Buffer.from(password));
      return matches && hash !== undefined;
    });
  }

  isOutdated(hash: string): boolean {
    return !hash.startsWith(PARAMETERS);
  }

  async #admitted<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < MOST_RUNNING) {
      this.#running += 1;
    } else if (this.#waiting.length < MOST_WAITING) {
      // A hash that ends passes its slot on, so the count stays the same.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      throw new HashingBusy();
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) {
        this.#running -= 1;
      } else {
        next();
      }
    }
  }
}

/** A hash with the current parameters that no password has. */
function dummyHash(): string {
  const text = (bytes: number): string => randomBytes(bytes).toString('base64').replaceAll('=', '');
  return `${PARAMETERS}${text(SALT_BYTES)}$${text(HASH_BYTES)}`;
}
