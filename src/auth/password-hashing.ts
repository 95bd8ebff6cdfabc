import { randomBytes } from 'node:crypto';
import type { Options } from '@node-rs/argon2';

/** What a hash costs. */
export interface HashCost {
  readonly memoryKib: number;
  readonly passes: number;
}

/** About 60 ms of one core. */
const COST: HashCost = { memoryKib: 64 * 1024, passes: 3 };
const LANES = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;

/** Hashes that run at the same time: each takes a thread of libuv's pool, which SQLite and files need too. */
const MAX_RUNNING = 2;
/** Those among them whose origin has failed lately: the other place is kept free. */
const MAX_RUNNING_AFTER_FAILURES = 1;
const MAX_WAITING = 8;

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
   * @param recentFailures of the origin: those with the fewest come first, and drive others out of a full queue.
   * @throws HashingBusy
   */
  verify(hash: string | undefined, password: string, recentFailures?: number): Promise<boolean>;
  /** Whether a hash was made with other parameters than the current ones. */
  isOutdated(hash: string): boolean;
}

/** A hash that waits for a place. */
interface Waiting {
  readonly recentFailures: number;
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/** Argon2id on libuv's thread pool. */
export class LocalPasswordHasher implements PasswordHasher {
  #running = 0;
  #runningAfterFailures = 0;
  /** Those with the fewest recent failures first, and of as many the first to come. */
  readonly #waiting: Waiting[] = [];
  readonly #options: Options;
  /** With what the hashes begin. */
  readonly #parameters: string;
  readonly #dummy: string;

  constructor({ memoryKib, passes }: HashCost = COST) {
    this.#options = {
      memoryCost: memoryKib,
      timeCost: passes,
      parallelism: LANES,
      outputLen: HASH_BYTES,
    };
    this.#parameters = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${LANES}$`;
    this.#dummy = dummyHash(this.#parameters);
  }

  async hash(password: string): Promise<string> {
    return this.#admitted(0, async () => {
      const { hash } = await import('@node-rs/argon2');
      return hash(Buffer.from(password), this.#options);
    });
  }

  async verify(hash: string | undefined, password: string, recentFailures = 0): Promise<boolean> {
    return this.#admitted(recentFailures, async () => {
      const { verify } = await import('@node-rs/argon2');
      const matches = await verify(hash ?? this.#dummy, Buffer.from(password));
      return matches && hash !== undefined;
    });
  }

  isOutdated(hash: string): boolean {
    return !hash.startsWith(this.#parameters);
  }

  async #admitted<T>(recentFailures: number, work: () => Promise<T>): Promise<T> {
    if (this.#hasPlace(recentFailures)) {
      this.#begin(recentFailures);
    } else {
      await this.#placeFor(recentFailures);
    }
    try {
      return await work();
    } finally {
      this.#end(recentFailures);
    }
  }

  #hasPlace(recentFailures: number): boolean {
    return (
      this.#running < MAX_RUNNING &&
      (recentFailures === 0 || this.#runningAfterFailures < MAX_RUNNING_AFTER_FAILURES)
    );
  }

  #begin(recentFailures: number): void {
    this.#running += 1;
    this.#runningAfterFailures += recentFailures === 0 ? 0 : 1;
  }

  #end(recentFailures: number): void {
    this.#running -= 1;
    this.#runningAfterFailures -= recentFailures === 0 ? 0 : 1;
    const [next] = this.#waiting;
    if (next !== undefined && this.#hasPlace(next.recentFailures)) {
      this.#waiting.shift();
      // Its place is taken at once, before anybody else can come.
      this.#begin(next.recentFailures);
      next.begin();
    }
  }

  /** Waits until there is a place, and takes it. @throws HashingBusy */
  #placeFor(recentFailures: number): Promise<void> {
    return new Promise((begin, reject) => {
      const giveUp = (): void => {
        reject(new HashingBusy());
      };
      const after = this.#waiting.findIndex((other) => other.recentFailures > recentFailures);
      this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, { recentFailures, begin, giveUp });
      if (this.#waiting.length > MAX_WAITING) {
        this.#waiting.pop()?.giveUp();
      }
    });
  }
}

/** A hash with these parameters that no password has. */
function dummyHash(parameters: string): string {
  const text = (bytes: number): string => randomBytes(bytes).toString('base64').replaceAll('=', '');
  return `${parameters}${text(SALT_BYTES)}$${text(HASH_BYTES)}`;
}
