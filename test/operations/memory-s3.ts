import { Readable } from 'node:stream';

interface Input {
  readonly Key?: string;
  readonly Prefix?: string;
  readonly Delimiter?: string;
  readonly Body?: Uint8Array;
  readonly UploadId?: string;
  readonly KeyMarker?: string;
  readonly UploadIdMarker?: string;
}

/** A bucket in memory, behind what is used of the S3 client. */
export class MemoryS3 {
  /** Uploads in a page of their listing. */
  pageSize = 1000;
  /** Whether it refuses to list uploads. */
  refusesUploads = false;
  /** Whether it refuses to end them. */
  refusesAborts = false;
  readonly #objects = new Map<string, Buffer>();
  readonly #uploads: { readonly Key: string; readonly UploadId: string }[] = [];

  /** The module of the client. */
  get sdk(): object {
    const send = (command: { readonly name: string; readonly input: Input }): Promise<object> =>
      // As over a network: what fails rejects.
      Promise.resolve().then(() => this.#answer(command.name, command.input));
    const named = (name: string) =>
      class {
        readonly name = name;
        constructor(readonly input: Input) {}
      };
    const commands = [
      ...['PutObject', 'GetObject', 'DeleteObject', 'ListObjectsV2'],
      ...['AbortMultipartUpload', 'ListMultipartUploads'],
    ];
    return {
      S3Client: class {
        readonly send = send;
        destroy(): void {
          // Nothing is open.
        }
      },
      ...Object.fromEntries(commands.map((name) => [`${name}Command`, named(name)])),
    };
  }

  /** An upload in parts whose client is killed. */
  beginUpload(key: string): void {
    this.#uploads.push({ Key: key, UploadId: `upload ${this.#uploads.length}` });
  }

  /** The keys of the uploads that were neither completed nor ended. */
  pendingKeys(): readonly string[] {
    return this.#uploads.map(({ Key }) => Key).sort();
  }

  #answer(name: string, input: Input): object {
    const { Key = '', Prefix = '' } = input;
    switch (name) {
      case 'PutObject':
        this.#objects.set(Key, Buffer.from(input.Body ?? []));
        return {};
      case 'GetObject': {
        const found = this.#objects.get(Key);
        if (found === undefined) throw Object.assign(new Error('It is missing.'), { name: 'NoSuchKey' });
        return { Body: Readable.from([found]) };
      }
      case 'DeleteObject':
        this.#objects.delete(Key);
        return {};
      case 'ListObjectsV2':
        return this.#objectsOf(Prefix, input.Delimiter);
      case 'AbortMultipartUpload':
        if (this.refusesAborts) throw Object.assign(new Error('Not for you.'), { name: 'AccessDenied' });
        this.#uploads.splice(
          this.#uploads.findIndex(({ UploadId }) => UploadId === input.UploadId),
          1,
        );
        return {};
      default:
        return this.#uploadsOf(Prefix, input);
    }
  }

  #objectsOf(prefix: string, delimiter: string | undefined): object {
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix));
    if (delimiter === undefined) {
      return { Contents: keys.map((Key) => ({ Key, Size: this.#objects.get(Key)?.length })) };
    }
    const below = keys.map(
      (key) => `${prefix}${key.slice(prefix.length).split(delimiter, 1)[0]!}${delimiter}`,
    );
    return { CommonPrefixes: [...new Set(below)].map((Prefix) => ({ Prefix })) };
  }

  #uploadsOf(prefix: string, { KeyMarker, UploadIdMarker }: Input): object {
    if (this.refusesUploads) throw Object.assign(new Error('Not for you.'), { name: 'AccessDenied' });
    const all = this.#uploads.filter(({ Key }) => Key.startsWith(prefix));
    const isLast = ({ Key, UploadId }: { readonly Key: string; readonly UploadId: string }): boolean =>
      Key === KeyMarker && UploadId === UploadIdMarker;
    const from = KeyMarker === undefined ? 0 : all.findIndex(isLast) + 1;
    const page = all.slice(from, from + this.pageSize);
    const last = page.at(-1);
    return {
      Uploads: page,
      IsTruncated: from + page.length < all.length,
      ...(last !== undefined && { NextKeyMarker: last.Key, NextUploadIdMarker: last.UploadId }),
    };
  }
}
