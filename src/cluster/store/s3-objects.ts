import type { Digest } from '../../operations/copying';
import { BackupError } from '../../operations/failure';
import { S3Bucket, type S3Access, type S3Address } from '../../operations/s3-bucket';
import { CheckpointStoreError, type CheckpointStoreProblem } from './checkpoint-store';
import type { Objects, StoredObject } from './objects';

/** What servers, and the client's comparison of checksums, say of an object that is there and is not what was written. */
const DAMAGED = /checksum mismatch|longer than its manifest says|is not what was sent/i;
const MISSING: ReadonlySet<unknown> = new Set(['NoSuchKey', 'NotFound']);

/** Objects in a bucket behind the S3 interface. */
export class S3Objects implements Objects {
  readonly #prefix: string;

  private constructor(
    private readonly bucket: S3Bucket,
    private readonly address: S3Address,
  ) {
    this.#prefix = address.prefix === '' ? '' : `${address.prefix}/`;
  }

  /** Rejects with a `BackupError` that says how to install the client, where it is missing. */
  static async open(address: S3Address, access: S3Access): Promise<S3Objects> {
    return new S3Objects(await S3Bucket.open(address.bucket, access), address);
  }

  nameOf(key: string): string {
    return `s3://${this.address.bucket}/${this.#prefix}${key}`;
  }

  create(key: string, path: string, expected: Digest): Promise<boolean> {
    return this.#guarded(key, (at) => this.bucket.create(at, path, expected));
  }

  createText(key: string, text: string): Promise<boolean> {
    return this.#guarded(key, (at) => this.bucket.createText(at, text));
  }

  text(key: string): Promise<string> {
    return this.#guarded(key, (at) => this.bucket.text(at));
  }

  fetch(key: string, path: string, mostBytes: number): Promise<Digest> {
    return this.#guarded(key, (at) => this.bucket.fetch(at, path, mostBytes));
  }

  digestOf(key: string): Promise<Digest> {
    return this.#guarded(key, (at) => this.bucket.digestOf(at));
  }

  list(prefix: string): Promise<readonly StoredObject[]> {
    return this.#guarded(prefix, async (at) =>
      (await this.bucket.list(at)).map((one) => ({ ...one, key: one.key.slice(this.#prefix.length) })),
    );
  }

  remove(key: string): Promise<void> {
    return this.#guarded(key, (at) => this.bucket.remove(at));
  }

  close(): void {
    this.bucket.close();
  }

  async #guarded<T>(key: string, work: (at: string) => Promise<T>): Promise<T> {
    const at = `${this.#prefix}${key}`;
    try {
      return await work(at);
    } catch (error) {
      if (!(error instanceof BackupError)) throw error;
      const name = this.nameOf(key);
      // It names the object already.
      const what = error.message.startsWith(`${name}: `)
        ? error.message.slice(name.length + 2)
        : error.message;
      throw new CheckpointStoreError(problemOf(error), name, what, { cause: error });
    }
  }
}

function problemOf({ message, cause }: BackupError): CheckpointStoreProblem {
  if (MISSING.has((cause as Error | undefined)?.name)) return 'missing';
  return DAMAGED.test(message) ? 'damaged' : 'unavailable';
}
