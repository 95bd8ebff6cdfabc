import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { CheckpointStoreError } from '../../src/cluster/store/checkpoint-store';
import type { Objects, StoredObject } from '../../src/cluster/store/objects';
import type { Digest } from '../../src/operations/copying';

const PAGE_KEYS = 3;

function digestOf(bytes: Buffer): Digest {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Objects in memory. A test decides when each operation happens. */
export class MemoryObjects implements Objects {
  readonly objects = new Map<string, { readonly bytes: Buffer; readonly modifiedMs: number }>();
  now = 1_000_000;
  /** Each operation waits for this before it happens, and for this again before its answer arrives. */
  turn: (operation: string, key: string) => Promise<void> = () => Promise.resolve();

  /** Called after each change. */
  changed: () => void = () => undefined;

  nameOf(key: string): string {
    return `memory:${key}`;
  }

  async create(key: string, path: string, expected: Digest): Promise<boolean> {
    const bytes = readFileSync(path);
    expect(digestOf(bytes)).toEqual(expected);
    return this.#create(key, bytes);
  }

  createText(key: string, text: string): Promise<boolean> {
    return this.#create(key, Buffer.from(text));
  }

  async text(key: string): Promise<string> {
    return (await this.#read(key)).toString();
  }

  async fetch(key: string, path: string): Promise<Digest> {
    const bytes = await this.#read(key);
    writeFileSync(path, bytes, { flag: 'wx' });
    return digestOf(bytes);
  }

  async digestOf(key: string): Promise<Digest> {
    return digestOf(await this.#read(key));
  }

  /** In pages, each of another moment. */
  async list(prefix: string): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    for (let from = ''; ;) {
      const page = await this.#at('list', prefix, () =>
        [...this.objects]
          .filter(([key]) => key.startsWith(prefix) && key > from)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .slice(0, PAGE_KEYS)
          .map(([key, { bytes, modifiedMs }]) => ({ key, bytes: bytes.length, modifiedMs })),
      );
      found.push(...page);
      const last = page.at(-1);
      if (page.length < PAGE_KEYS || last === undefined) return found;
      from = last.key;
    }
  }

  async remove(key: string): Promise<void> {
    await this.#at('remove', key, () => this.objects.delete(key));
  }

  close(): void {
    // Nothing to close.
  }

  #create(key: string, bytes: Buffer): Promise<boolean> {
    return this.#at('create', key, () => {
      if (this.objects.has(key)) return false;
      this.objects.set(key, { bytes, modifiedMs: this.now });
      return true;
    });
  }

  #read(key: string): Promise<Buffer> {
    return this.#at('read', key, () => {
      const found = this.objects.get(key);
      if (found === undefined) throw new CheckpointStoreError('missing', this.nameOf(key), 'it is missing');
      return found.bytes;
    });
  }

  async #at<T>(operation: string, key: string, work: () => T): Promise<T> {
    await this.turn(operation, key);
    const result = work();
    this.changed();
    await this.turn(`${operation} is done`, key);
    return result;
  }
}
