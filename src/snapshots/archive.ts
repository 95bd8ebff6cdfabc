import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream, WritableStream } from 'node:stream/web';
import { malformed, noRoom, SnapshotRefusal } from './failure';

/**
 * The archive of a snapshot: a tar file. The first entry is the index, a JSON object; behind it come the files of each
 * collection in a folder of its own, as the engine has linked them, in the order of the index.
 */

/** The name of the first entry. */
const INDEX = 'snapshot.json';
const FORMAT = 1;
const MAX_INDEX_BYTES = 16 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
const MANIFEST = 'MANIFEST';
/** What the engine links for a snapshot; nothing else is taken out of an archive. */
const FILE_NAME = /^(?:MANIFEST|[0-9a-f]{8}\.data)$/;
const FOLDER_NAME = /^[0-9]{1,8}$/;

/** A collection in an archive. */
export interface ArchivedCollection {
  readonly name: string;
  /** The name of its folder in the archive. */
  readonly folder: string;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
}

/** What an archive is of: one collection, or all of them. */
export type SnapshotKind = 'collection' | 'all';

/** The first entry of an archive. */
export interface ArchiveIndex {
  readonly kind: SnapshotKind;
  readonly kithdb_version: string;
  readonly created_at: string;
  readonly collections: readonly ArchivedCollection[];
}

/** What is known of an archive once it was written or read. */
export interface ArchiveDigest {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Whether a file can be one of a checkpoint. */
export function isCheckpointFileName(name: string): boolean {
  return FILE_NAME.test(name);
}

/**
 * The files that the engine has linked into a folder, by name. Such a folder is moved away before it is removed: the sizes,
 * which are asked for by path, say that the list before them is whole.
 * @throws Error when it is gone, or has no manifest.
 */
export async function filesIn(folder: string): Promise<ArchivedCollection['files']> {
  const names = (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort();
  // The engine links it last.
  if (!names.includes(MANIFEST)) throw new Error('the linked files of a collection have no manifest');
  return Promise.all(names.map(async (name) => ({ name, bytes: (await stat(join(folder, name))).size })));
}

/** The bytes of the files of an index. */
export function bytesOf({ collections }: ArchiveIndex): number {
  return collections.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Writes an archive of the folders below `root` to a new file, and syncs it. The tar itself adds less than one percent of
 * what an index names.
 */
export async function writeArchive(
  root: string,
  index: ArchiveIndex,
  target: string,
  signal: AbortSignal,
): Promise<ArchiveDigest> {
  const { createTarPacker } = await import('modern-tar');
  const { readable, controller } = createTarPacker();
  const created = new Date(index.created_at);
  const header = (name: string, size: number) => ({ name, size, mode: 0o600, mtime: created });
  const pack = async (): Promise<void> => {
    const text = Buffer.from(JSON.stringify({ kithdb_snapshot: FORMAT, ...index }));
    const first = controller.add(header(INDEX, text.length)).getWriter();
    await first.write(text);
    await first.close();
    for (const { folder, files } of index.collections) {
      for (const { name, bytes } of files) {
        const entry = controller.add(header(`${folder}/${name}`, bytes));
        const content = createReadStream(join(root, folder, name), { highWaterMark: READ_BYTES });
        const writer = entry.getWriter();
        for await (const piece of content) {
          await writer.write(piece as Buffer);
        }
        await writer.close();
      }
    }
    controller.finalize();
  };
  const digest = new DigestStream();
  const packing = pack().catch((error: unknown) => {
    controller.error(error);
    throw error;
  });
  // Whichever fails first is the reason; the other fails with it.
  packing.catch(() => undefined);
  const file = createWriteStream(target, { flags: 'wx', mode: 0o600 });
  await pipeline(Readable.fromWeb(readable as ReadableStream<Uint8Array>), digest, file, { signal });
  await packing;
  await syncFile(target);
  return digest.result();
}

/** What a reader of an archive may do with it. */
export interface Extraction {
  /** A new folder for what is in it. */
  readonly into: string;
  readonly kind: SnapshotKind;
  /** Whether the SHA-256 is asked for; it is empty otherwise. */
  readonly digests: boolean;
  /** The most bytes that the archive may have. */
  readonly mostBytes: number;
  /** Bytes that the disk has for it. */
  readonly roomBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Takes an archive apart: only the files that its index names, each in its length, into folders below `into`. Links,
 * folders and other names are refused, and nothing is written outside.
 * @throws SnapshotRefusal for an archive that is none, or of another kind.
 */
export async function readArchive(
  source: Readable,
  extraction: Extraction,
): Promise<{ readonly index: ArchiveIndex; readonly digest: ArchiveDigest }> {
  const { createTarDecoder } = await import('modern-tar');
  const { mostBytes, digests, signal } = extraction;
  const digest = new DigestStream(mostBytes, digests);
  const decoder = createTarDecoder({ strict: true });
  const feeding = pipeline(source, digest, Writable.fromWeb(decoder.writable as WritableStream), { signal });
  feeding.catch(() => undefined);
  try {
    const index = await extract(decoder.readable, extraction);
    await feeding;
    return { index, digest: digest.result() };
  } catch (error) {
    source.destroy();
    // The reason of the stream comes first: what was read then ended too early.
    await feeding.catch((why: unknown) => {
      if (why instanceof SnapshotRefusal && !(error instanceof SnapshotRefusal)) throw why;
    });
    throw explainedRefusal(error, signal);
  }
}

interface TarEntry {
  readonly header: { readonly name: string; readonly type?: string | undefined; readonly size: number };
  readonly body: ReadableStream<Uint8Array>;
}

async function extract(
  entries: AsyncIterable<unknown> | ReadableStream,
  extraction: Extraction,
): Promise<ArchiveIndex> {
  let index: ArchiveIndex | undefined;
  let expected: { readonly path: string; readonly bytes: number }[] = [];
  let taken = 0;
  for await (const entry of entries as AsyncIterable<TarEntry>) {
    const { name, size, type } = entry.header;
    if (type !== 'file') throw notOurs(`the entry ${shown(name)} is no file`);
    if (index === undefined) {
      index = await readIndex(entry, extraction.kind);
      expected = filesOf(index);
      if (bytesOf(index) > extraction.mostBytes) throw tooLarge(extraction.mostBytes);
      if (bytesOf(index) > extraction.roomBytes) throw noRoom();
      for (const { folder } of index.collections) {
        await mkdir(join(extraction.into, folder), { mode: 0o700 });
      }
      continue;
    }
    const next = expected[taken];
    if (next?.path !== name || next.bytes !== size) {
      throw notOurs(`the entry ${shown(name)} is not what its index says`);
    }
    taken += 1;
    const file = createWriteStream(join(extraction.into, name), { flags: 'wx', mode: 0o600 });
    await pipeline(Readable.fromWeb(entry.body), file);
    await syncFile(join(extraction.into, name));
  }
  if (index === undefined || taken < expected.length) throw notOurs('it ends too early');
  return index;
}

function filesOf({ collections }: ArchiveIndex): { path: string; bytes: number }[] {
  return collections.flatMap(({ folder, files }) =>
    files.map(({ name, bytes }) => ({ path: `${folder}/${name}`, bytes })),
  );
}

async function readIndex({ header, body }: TarEntry, kind: SnapshotKind): Promise<ArchiveIndex> {
  if (header.name !== INDEX || header.size > MAX_INDEX_BYTES) {
    throw notOurs(`its first entry is not ${INDEX}`);
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of Readable.fromWeb(body)) pieces.push(piece as Uint8Array);
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    throw notOurs(`its ${INDEX} is not JSON`);
  }
  const index = asIndex(value);
  if (index === undefined) throw notOurs(`its ${INDEX} is not that of a snapshot of this release`);
  if (index.kind !== kind) {
    const of = { collection: 'one collection', all: 'all collections' };
    throw malformed(`The snapshot is one of ${of[index.kind]}, not of ${of[kind]}`);
  }
  return index;
}

/** The index that a value is, if it is one. */
function asIndex(value: unknown): ArchiveIndex | undefined {
  const index = value as Partial<ArchiveIndex> & { kithdb_snapshot?: unknown };
  const isIndex =
    typeof value === 'object' &&
    value !== null &&
    index.kithdb_snapshot === FORMAT &&
    (index.kind === 'collection' || index.kind === 'all') &&
    typeof index.kithdb_version === 'string' &&
    typeof index.created_at === 'string' &&
    Array.isArray(index.collections) &&
    (index.kind === 'all' || index.collections.length === 1) &&
    index.collections.every(isCollection) &&
    (['folder', 'name'] as const).every((key) =>
      areDistinct((index as ArchiveIndex).collections.map((collection) => collection[key])),
    );
  return isIndex ? (index as ArchiveIndex) : undefined;
}

function isCollection(value: unknown): boolean {
  const { name, folder, files } = (value ?? {}) as Partial<ArchivedCollection>;
  return (
    typeof name === 'string' &&
    typeof folder === 'string' &&
    FOLDER_NAME.test(folder) &&
    Array.isArray(files) &&
    files.every(isFile) &&
    areDistinct(files.map((file: { readonly name: string }) => file.name))
  );
}

function isFile(value: unknown): boolean {
  const { name, bytes } = (value ?? {}) as { readonly name?: unknown; readonly bytes?: unknown };
  return (
    typeof name === 'string' && FILE_NAME.test(name) && Number.isSafeInteger(bytes) && Number(bytes) >= 0
  );
}

function areDistinct(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

/** Counts and digests what passes, up to a limit. */
class DigestStream extends Transform {
  readonly #hash: Hash | undefined;
  #bytes = 0;

  constructor(
    private readonly mostBytes = Number.MAX_SAFE_INTEGER,
    digests = true,
  ) {
    super({ highWaterMark: READ_BYTES });
    // It takes as long as all the rest of an archive.
    this.#hash = digests ? createHash('sha256') : undefined;
  }

  override _transform(
    piece: Buffer,
    _encoding: string,
    done: (error: Error | null, data?: Buffer) => void,
  ): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.mostBytes) {
      done(tooLarge(this.mostBytes));
      return;
    }
    this.#hash?.update(piece);
    done(null, piece);
  }

  /** Called once, behind the end. */
  result(): ArchiveDigest {
    return { bytes: this.#bytes, sha256: this.#hash?.digest('hex') ?? '' };
  }
}

function notOurs(why: string): SnapshotRefusal {
  return malformed(`The snapshot cannot be used: ${why}`);
}

function tooLarge(mostBytes: number): SnapshotRefusal {
  return malformed(`The snapshot has more than ${mostBytes} bytes (max_snapshot_bytes)`);
}

/** A name from an archive in a message. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

const OF_TAR = /tar|archive/i;

/** The refusal that an error of the decoder is; others stay. */
function explainedRefusal(error: unknown, signal: AbortSignal): unknown {
  const isOfSystem = (error as NodeJS.ErrnoException).code?.startsWith('E') === true;
  if (error instanceof SnapshotRefusal || isOfSystem || signal.aborted || !(error instanceof Error)) {
    return error;
  }
  return OF_TAR.test(error.message) ? notOurs('it is no tar archive, or it is damaged') : error;
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
