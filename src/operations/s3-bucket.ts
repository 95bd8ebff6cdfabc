import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Digest } from './copying';
import { BackupError } from './failure';

/** A place in a bucket: `s3://BUCKET/PREFIX`. */
export interface S3Address {
  readonly bucket: string;
  /** Without a slash at its ends; empty for the whole bucket. */
  readonly prefix: string;
}

/** How a bucket is reached, beside the credentials, which the SDK finds as all of its programs do. */
export interface S3Access {
  /** The URL of an S3 server that is not Amazon's. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Loads the package with the client, where it is not beside kithdb. */
  readonly load?: () => Promise<unknown>;
}

/** The package with the client; users who need it install it. */
const PACKAGE = '@aws-sdk/client-s3';
const ADVICE = `s3:// needs the package ${PACKAGE}: npm install ${PACKAGE} beside kithdb (with --global where kithdb is installed so)`;
/** Bytes of a part; larger files have larger ones, because a file has at most 10,000. */
const PART_BYTES = 16 * 1024 * 1024;
const MAX_PARTS = 10_000;
const CONNECT_MS = 10_000;
const SILENCE_MS = 60_000;

/** An object of a listing. */
export interface S3Object {
  readonly key: string;
  readonly bytes: number;
  /** When it was written, by the clock of the server: milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** An upload in parts that was begun. */
export interface S3Upload {
  readonly key: string;
  readonly id: string;
}

/** What is used of the package. */
interface Sdk {
  readonly S3Client: new (config: object) => Client;
  readonly PutObjectCommand: CommandOf;
  readonly GetObjectCommand: CommandOf;
  readonly HeadObjectCommand: CommandOf;
  readonly DeleteObjectCommand: CommandOf;
  readonly ListObjectsV2Command: CommandOf;
  readonly CreateMultipartUploadCommand: CommandOf;
  readonly UploadPartCommand: CommandOf;
  readonly CompleteMultipartUploadCommand: CommandOf;
  readonly AbortMultipartUploadCommand: CommandOf;
  readonly ListMultipartUploadsCommand: CommandOf;
}
type CommandOf = new (input: object) => object;
interface Client {
  send(command: object): Promise<Answer>;
  destroy(): void;
}
interface Answer {
  readonly Body?: Readable;
  readonly UploadId?: string;
  readonly ETag?: string;
  readonly ContentLength?: number;
  readonly ChecksumSHA256?: string;
  readonly Contents?: readonly {
    readonly Key?: string;
    readonly Size?: number;
    readonly LastModified?: Date;
  }[];
  readonly CommonPrefixes?: readonly { readonly Prefix?: string }[];
  readonly NextContinuationToken?: string;
  readonly Uploads?: readonly { readonly Key?: string; readonly UploadId?: string }[];
  readonly NextKeyMarker?: string;
  readonly NextUploadIdMarker?: string;
  readonly IsTruncated?: boolean;
}

/** A file that is being uploaded. */
interface Upload {
  readonly key: string;
  readonly size: number;
  readonly partBytes: number;
  readonly read: (from: number) => Promise<Buffer>;
  /** What the request that completes it has to say beside. */
  readonly condition: object;
  /** The SHA-256 of each part is sent with it, and added here. */
  readonly sent?: SentParts;
}

/** What was sent of a file. */
interface SentParts {
  /** The SHA-256 of each part. */
  readonly digests: Buffer[];
  readonly whole: Hash;
}

/** Reads `s3://BUCKET/PREFIX`; undefined for a folder. @throws BackupError */
export function parseS3(text: string): S3Address | undefined {
  if (!text.startsWith('s3://')) {
    return undefined;
  }
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text) ?? [];
  const parts = path.split('/').filter((part) => part !== '');
  if (bucket === undefined || parts.some((part) => part === '.' || part === '..')) {
    throw new BackupError(`${text} must be s3://BUCKET or s3://BUCKET/PREFIX`);
  }
  return { bucket, prefix: parts.join('/') };
}

/** A bucket behind the S3 interface. Errors are BackupErrors that name the object. */
export class S3Bucket {
  private constructor(
    private readonly sdk: Sdk,
    private readonly client: Client,
    private readonly bucket: string,
  ) {}

  /** @throws BackupError that says how to install the package, where it is missing. */
  static async open(bucket: string, { endpoint, region, load }: S3Access): Promise<S3Bucket> {
    const sdk = await loadSdk(load);
    const client = new sdk.S3Client({
      ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      ...(region !== undefined && { region }),
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
    });
    return new S3Bucket(sdk, client, bucket);
  }

  close(): void {
    this.client.destroy();
  }

  /** Uploads a file, in parts where it is large. */
  async put(key: string, path: string): Promise<void> {
    await this.#upload(key, path, {});
  }

  /**
   * Uploads a file under a key that no object has; false where one has it. The server compares each part with its SHA-256,
   * and the object with what it has noted.
   * @throws BackupError also when the file or the object is not what was expected.
   */
  async create(key: string, path: string, expected: Digest): Promise<boolean> {
    const sent: SentParts = { digests: [], whole: createHash('sha256') };
    const isNew = await this.#ifAbsent((condition) => this.#upload(key, path, condition, sent));
    const { ContentLength, ChecksumSHA256: noted } = await this.#send(
      key,
      new this.sdk.HeadObjectCommand({ ...this.#at(key), ChecksumMode: 'ENABLED' }),
    );
    // Of an object in parts it is that of the parts' digests; another may have sent other parts.
    const isOfParts = noted?.includes('-') === true;
    const sum = isOfParts ? sumOfParts(sent) : Buffer.from(expected.sha256, 'hex').toString('base64');
    const isAsNoted = noted === undefined || noted === sum || (isOfParts && !isNew);
    if (ContentLength !== expected.bytes || !isAsNoted || sent.whole.digest('hex') !== expected.sha256) {
      throw new BackupError(`s3://${this.bucket}/${key} is not what was sent`);
    }
    return isNew;
  }

  /** Writes a small text under a key that no object has; false where one has it. */
  createText(key: string, text: string): Promise<boolean> {
    return this.#ifAbsent(async (condition) => {
      const Body = Buffer.from(text);
      const command = new this.sdk.PutObjectCommand({
        ...{ ...this.#at(key), ...condition, Body },
        ChecksumSHA256: digestOf(Body).toString('base64'),
      });
      await this.#send(key, command);
    });
  }

  async #ifAbsent(write: (condition: object) => Promise<void>): Promise<boolean> {
    try {
      await write({ IfNoneMatch: '*' });
      return true;
    } catch (error) {
      const { name } = ((error as Error).cause ?? {}) as { readonly name?: unknown };
      if (name === 'PreconditionFailed') return false;
      throw error;
    }
  }

  async #upload(key: string, path: string, condition: object, sent?: SentParts): Promise<void> {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const partBytes = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS));
      const read = async (from: number): Promise<Buffer> => {
        const part = Buffer.alloc(Math.min(partBytes, size - from));
        let filled = 0;
        while (filled < part.length) {
          const { bytesRead } = await file.read(part, filled, part.length - filled, from + filled);
          if (bytesRead === 0) throw new BackupError(`${path} became shorter while it was read`);
          filled += bytesRead;
        }
        return part;
      };
      const upload = { key, size, partBytes, read, condition, ...(sent !== undefined && { sent }) };
      if (size <= partBytes) {
        const part = await partOf(upload, 0);
        await this.#send(key, new this.sdk.PutObjectCommand({ ...this.#at(key), ...condition, ...part }));
      } else {
        await this.#putParts(upload);
      }
    } finally {
      await file.close();
    }
  }

  async #putParts(file: Upload): Promise<void> {
    const { key, size, partBytes, condition, sent } = file;
    const create = { ...this.#at(key), ...(sent !== undefined && { ChecksumAlgorithm: 'SHA256' }) };
    const { UploadId } = await this.#send(key, new this.sdk.CreateMultipartUploadCommand(create));
    const upload = { ...this.#at(key), UploadId };
    try {
      const parts: object[] = [];
      for (let from = 0; from < size; from += partBytes) {
        const PartNumber = parts.length + 1;
        const part = await partOf(file, from);
        const command = new this.sdk.UploadPartCommand({ ...upload, PartNumber, ...part });
        const { ETag } = await this.#send(key, command);
        const { ChecksumSHA256 } = part;
        parts.push({ PartNumber, ETag, ...(ChecksumSHA256 !== undefined && { ChecksumSHA256 }) });
      }
      const complete = { ...upload, ...condition, MultipartUpload: { Parts: parts } };
      await this.#send(key, new this.sdk.CompleteMultipartUploadCommand(complete));
    } catch (error) {
      await this.client.send(new this.sdk.AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  }

  /** Reads an object to its end. */
  async digestOf(key: string): Promise<Digest> {
    const hash = createHash('sha256');
    let bytes = 0;
    await this.#read(key, (piece) => {
      hash.update(piece);
      bytes += piece.length;
    });
    return { bytes, sha256: hash.digest('hex') };
  }

  /** Writes an object to a new file, durably. @throws BackupError where it has more than `mostBytes` */
  async fetch(key: string, path: string, mostBytes: number): Promise<Digest> {
    const hash = createHash('sha256');
    let bytes = 0;
    const file = await open(path, 'wx', 0o600);
    try {
      await this.#read(key, async (piece) => {
        hash.update(piece);
        bytes += piece.length;
        if (bytes > mostBytes) throw new BackupError(`${key} is longer than its manifest says`);
        // In whole: one call of `write` may write less.
        await file.writeFile(piece);
      });
      await file.sync();
    } finally {
      await file.close();
    }
    return { bytes, sha256: hash.digest('hex') };
  }

  /** A small text. */
  async text(key: string): Promise<string> {
    const pieces: Buffer[] = [];
    await this.#read(key, (piece) => {
      pieces.push(piece);
    });
    return Buffer.concat(pieces).toString('utf8');
  }

  async #read(key: string, take: (piece: Buffer) => void | Promise<void>): Promise<void> {
    const { Body } = await this.#send(key, new this.sdk.GetObjectCommand(this.#at(key)));
    try {
      for await (const piece of Body ?? []) await take(piece as Buffer);
    } catch (error) {
      throw refused(this.bucket, key, error);
    }
  }

  /** The objects whose keys begin so. */
  async list(prefix: string): Promise<readonly S3Object[]> {
    const objects: S3Object[] = [];
    for await (const { Contents = [] } of this.#pages({ Prefix: prefix })) {
      objects.push(
        ...Contents.map(({ Key = '', Size = 0, LastModified }) => ({
          key: Key,
          bytes: Size,
          modifiedMs: LastModified?.getTime() ?? 0,
        })),
      );
    }
    return objects;
  }

  /** The names right below a prefix, which ends with a slash or is empty. */
  async names(prefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { CommonPrefixes = [] } of this.#pages({ Prefix: prefix, Delimiter: '/' })) {
      names.push(...CommonPrefixes.map(({ Prefix = '' }) => Prefix.slice(prefix.length, -1)));
    }
    return names;
  }

  async *#pages(input: { readonly Prefix: string; readonly Delimiter?: string }): AsyncGenerator<Answer> {
    let ContinuationToken: string | undefined;
    do {
      const command = new this.sdk.ListObjectsV2Command({ ...input, Bucket: this.bucket, ContinuationToken });
      const page = await this.#send(input.Prefix, command);
      yield page;
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
  }

  /** The uploads in parts that were begun and not ended, of keys that begin so. */
  async uploads(prefix: string): Promise<readonly S3Upload[]> {
    const uploads: S3Upload[] = [];
    let page: Answer = {};
    do {
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
      const input = { Bucket: this.bucket, Prefix: prefix, KeyMarker, UploadIdMarker };
      page = await this.#send(prefix, new this.sdk.ListMultipartUploadsCommand(input));
      const { Uploads = [] } = page;
      uploads.push(...Uploads.map(({ Key = '', UploadId = '' }) => ({ key: Key, id: UploadId })));
    } while (page.IsTruncated === true && page.NextKeyMarker !== undefined);
    return uploads;
  }

  /** Ends an upload in parts; the server removes what it has of it. */
  async abort({ key, id }: S3Upload): Promise<void> {
    await this.#send(key, new this.sdk.AbortMultipartUploadCommand({ ...this.#at(key), UploadId: id }));
  }

  async remove(key: string): Promise<void> {
    await this.#send(key, new this.sdk.DeleteObjectCommand(this.#at(key)));
  }

  #at(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.bucket, Key: key };
  }

  async #send(key: string, command: object): Promise<Answer> {
    try {
      return await this.client.send(command);
    } catch (error) {
      throw refused(this.bucket, key, error);
    }
  }
}

/** A part of a file, with its digest where the server is to compare it. */
async function partOf(
  { read, sent }: Upload,
  from: number,
): Promise<{ readonly Body: Buffer; readonly ChecksumSHA256?: string }> {
  const Body = await read(from);
  if (sent === undefined) return { Body };
  const digest = digestOf(Body);
  sent.digests.push(digest);
  sent.whole.update(Body);
  return { Body, ChecksumSHA256: digest.toString('base64') };
}

/** What an S3 server notes of an object in parts. */
function sumOfParts({ digests }: SentParts): string {
  return `${digestOf(Buffer.concat(digests)).toString('base64')}-${digests.length}`;
}

function digestOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function refused(bucket: string, key: string, error: unknown): BackupError {
  const { name, message } = error as Error;
  return new BackupError(`s3://${bucket}/${key}: ${[name, message].filter(Boolean).join(': ')}`, {
    cause: error,
  });
}

async function loadSdk(load = loadBeside): Promise<Sdk> {
  try {
    return (await load()) as Sdk;
  } catch (error) {
    throw new BackupError(ADVICE, { cause: error });
  }
}

function loadBeside(): Promise<unknown> {
  // Not a literal: the package is none of this one's.
  const name: string = PACKAGE;
  return import(name);
}
