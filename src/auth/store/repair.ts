import { copyFile, rename, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../../files/folder';
import { CatalogAtRest } from './catalog';
import {
  givingPosition,
  LOG_BEGIN,
  LOG_POSITION,
  parsePosition,
  positionText,
  type LogPosition,
} from './change';
import { isDamage, isReadOnly, openConnection, type SqlConnection, type SqlKind } from './connection';
import { besides, storeProblems } from './copy';
import { DigestBuilder, StoreDigest } from './digest';
import { DIGEST_FILE, DigestFile, type Recorded } from './digest-file';
import { STORE_FILES, STORE_JOURNALS, syncFile } from './file';
import { isEmpty, storePath } from './open';
import { adminRows, lastTokenId, ownDigest, settingRows, storedToken, type StoredRow } from './rows';
import {
  FORMER_SCHEMA_VERSION,
  FROM_FORMER_SCHEMA,
  LIMITS_SCHEMA_VERSION,
  SCHEMA_VERSION,
  schemaVersion,
} from './schema';
import type { StoreProblem } from './verification';
import { authStateRow, newSettingRow, writeStore } from './writing';

/** What a repair of the store did. */
export interface StoreRepair {
  /** Whether there was nothing to repair; then nothing was changed. */
  readonly sound: boolean;
  readonly problems: readonly StoreProblem[];
  readonly keptAdmin: boolean;
  readonly keptTokens: number;
  /** Access tokens that could be read and are dropped: the first ids. */
  readonly droppedTokens: readonly number[];
  /** Folder of the copies of what was replaced, relative to the data directory. */
  readonly salvage: string | undefined;
  /**
   * Of a node of a cluster, which keeps nothing: it takes all from its cluster; or it keeps what verifies, and gives it to its
   * cluster, whose log was lost.
   */
  readonly cluster?: 'takes' | 'gives';
}

/** Whose store is repaired, and how. */
export interface RepairOptions {
  readonly kind?: SqlKind | undefined;
  /**
   * Whether a store with its digest is in force although the catalog of the engine has a later generation: what was deleted or
   * replaced since then works again. At a node of a cluster: whether it gives the cluster what it has.
   */
  readonly takesOlder?: boolean;
  /** Whether the data directory is of a node of a cluster. */
  readonly isOfCluster?: boolean;
}

/** Ids that are listed. */
const MAX_LISTED = 1000;
/** Access tokens that are read at a time. */
const PAGE = 1000;

/**
 * Makes the store of a data directory sound, while no server runs on it: keeps the rows that verify, drops the others,
 * and leaves authentication enabled. What is replaced is copied first. A kill leaves a store that is closed still, and
 * that the next repair mends.
 * @param stamp names the folder for what is replaced.
 */
export async function repairStore(
  dataDir: string,
  stamp: string,
  { kind, takesOlder = false, isOfCluster = false }: RepairOptions = {},
): Promise<StoreRepair> {
  const problems = await storeProblems(dataDir, kind);
  const none = { keptAdmin: false, keptTokens: 0, droppedTokens: [], salvage: undefined };
  const gives = isOfCluster && takesOlder;
  if (problems.length === 0 && !gives) {
    return { sound: true, problems, ...none };
  }
  const digestFile = new DigestFile(dataDir);
  const recorded = await digestFile.read();
  const noted = await new CatalogAtRest(dataDir).generation();
  const salvage = join('salvage', stamp);
  await setAside(dataDir, join(dataDir, salvage));
  const renewed = `${storePath(dataDir)}.new`;
  await rm(renewed, { force: true });
  const empty = [authStateRow('true'), ...(isOfCluster ? [positionRow(LOG_BEGIN)] : [])];
  const keepsNothing = (isOfCluster && !gives) || (await isEmpty(dataDir));
  const { digest, ...kept } = keepsNothing
    ? { ...none, digest: await writeNothing(renewed, empty, { recorded, noted }, kind) }
    : await besides(dataDir, async (copy) => {
        const connection = await openConnection(copy, kind);
        try {
          const source = await Source.of(connection, { recorded, noted, takesOlder });
          return await writeSound(source, renewed, gives);
        } finally {
          await connection.close();
        }
      });
  // Of a kill from here on the next repair keeps the same: what was kept verifies by this digest too.
  await digestFile.write(digest);
  for (const name of STORE_JOURNALS) {
    await rm(join(dataDir, name), { force: true });
  }
  await syncFolder(dataDir);
  await rename(renewed, storePath(dataDir));
  await syncFolder(dataDir);
  const cluster = isOfCluster && ({ cluster: keepsNothing ? 'takes' : 'gives' } as const);
  return { sound: false, problems, ...kept, salvage, ...cluster };
}

function positionRow(position: LogPosition): StoredRow {
  return newSettingRow(LOG_POSITION, positionText(position));
}

async function setAside(dataDir: string, folder: string): Promise<void> {
  await makeFolder(folder);
  for (const name of [...STORE_FILES, DIGEST_FILE]) {
    if (existsSync(join(dataDir, name))) {
      await copyFile(join(dataDir, name), join(folder, name));
      await syncFile(join(folder, name));
    }
  }
  await syncFolder(folder);
}

async function writeNothing(
  path: string,
  rows: readonly StoredRow[],
  { recorded, noted }: Omit<Beside, 'takesOlder'>,
  kind?: SqlKind,
): Promise<StoreDigest> {
  const known = recorded.state === 'sound' ? recorded.digest : StoreDigest.empty(0);
  return writeStore(path, kind, {
    rows: eachOf(rows),
    generation: Math.max(known.generation, noted) + 1,
    lastTokenId: highestTokenId(known.lastTokenId, known, noted),
  });
}

/** The highest id that a token may have had: none of the changes that only the catalog knows made more than one. */
function highestTokenId(last: number, known: StoreDigest | undefined, noted: number): number {
  return last + Math.max(0, noted - (known?.generation ?? 0));
}

async function* eachOf(rows: readonly StoredRow[]): AsyncGenerator<StoredRow> {
  for (const row of rows) yield await Promise.resolve(row);
}

type Kept = Omit<StoreRepair, 'sound' | 'problems' | 'salvage'> & { readonly digest: StoreDigest };

/** Settings of which a repair does not keep the value. */
const RENEWED: ReadonlySet<string> = new Set(['auth_enabled', LOG_POSITION]);

/** Writes what verifies of a copy of the damaged store to a new file, which is to be given to a cluster or not. */
async function writeSound(source: Source, path: string, gives: boolean): Promise<Kept> {
  const rows = new DigestBuilder();
  let lost = '';
  for await (const row of source.rows()) {
    rows.add(row.counted);
    if (row.kind === 'setting' && row.name === LOG_POSITION && row.verifies) {
      lost = parsePosition(row.value).created;
    }
  }
  const readable = rows.build(0, 0);
  const seen = { keptAdmin: false, keptTokens: 0, droppedTokens: [] as number[] };
  const verified = async function* (): AsyncGenerator<StoredRow> {
    yield authStateRow('true');
    if (gives) yield positionRow(givingPosition(lost));
    for await (const row of source.rows()) {
      const isKept = source.vouchesFor(row, readable);
      if (row.kind === 'token') {
        if (isKept) seen.keptTokens += 1;
        else if (seen.droppedTokens.length < MAX_LISTED) seen.droppedTokens.push(row.token.id);
      } else if (row.kind === 'admin') {
        seen.keptAdmin = isKept;
      }
      if (isKept && !(row.kind === 'setting' && RENEWED.has(row.name))) yield row;
    }
  };
  const { generation, highestTokenId: last } = source;
  const content = { rows: verified(), generation: generation + 1, lastTokenId: last, schema: source.schema };
  const digest = await writeStore(path, source.kind, content);
  return { ...seen, digest };
}

/** What is known of a store beside itself. */
interface Beside {
  readonly recorded: Recorded;
  /** The generation that the catalog of the engine has. */
  readonly noted: number;
  readonly takesOlder: boolean;
}

/** A damaged store, read as far as it goes, and what its rows are compared with. */
class Source {
  private constructor(
    private readonly connection: SqlConnection,
    /** The newest digest that is sound, of the file or the store's own, unless the catalog of the engine has a later one that counts. */
    private readonly trusted: StoreDigest | undefined,
    /** A store of the former schema has no digests; it counts as a whole, or not at all. */
    private readonly isSoundFormer: boolean,
    /** The last generation that is known. */
    readonly generation: number,
    /** The highest id of a row that may be there. */
    private readonly lastTokenId: number,
    /** The highest id that a token may have had. */
    readonly highestTokenId: number,
    /** The version of the schema of the new store, in which the limits of tokens have a place where they had one. */
    readonly schema: number,
  ) {}

  static async of(connection: SqlConnection, { recorded, noted, takesOlder }: Beside): Promise<Source> {
    const version = await readable(() => schemaVersion(connection));
    const isSoundFormer =
      version === FORMER_SCHEMA_VERSION &&
      recorded.state === 'absent' &&
      (noted === 0 || takesOlder) &&
      (await isIntact(connection));
    if (version === FORMER_SCHEMA_VERSION) {
      // Of this copy; its rows are read like others then.
      await readable(() => connection.script(FROM_FORMER_SCHEMA));
    }
    const text = await readable(() => ownDigest(connection));
    const digests = [
      text === undefined ? undefined : StoreDigest.parse(text),
      recorded.state === 'sound' ? recorded.digest : undefined,
    ].filter((digest) => digest !== undefined);
    const [newest] = digests.sort((a, b) => b.generation - a.generation);
    const last = isSoundFormer ? await lastTokenId(connection) : (newest?.lastTokenId ?? 0);
    const generation = Math.max(newest?.generation ?? 0, noted);
    const trusted = takesOlder || newest?.generation === generation ? newest : undefined;
    const highest = highestTokenId(last, newest, noted);
    const hasLimits = [version, newest?.schema].includes(LIMITS_SCHEMA_VERSION);
    const schema = hasLimits ? LIMITS_SCHEMA_VERSION : SCHEMA_VERSION;
    return new Source(connection, trusted, isSoundFormer, generation, last, highest, schema);
  }

  get kind(): SqlKind {
    return this.connection.kind;
  }

  /**
   * Whether a row is one of those that were written last: all rows of its part together are. A row by itself proves
   * nothing, since an older copy of the store has sound rows of tokens that were deleted since.
   */
  vouchesFor(row: StoredRow, readable: StoreDigest): boolean {
    return this.isSoundFormer || this.trusted?.agreesIn(row.counted.part, readable) === true;
  }

  /** The rows that can be read. */
  async *rows(): AsyncGenerator<StoredRow> {
    const { connection } = this;
    yield* (await readable(() => settingRows(connection))) ?? [];
    yield* (await readable(() => adminRows(connection))) ?? [];
    for (let from = 0; from < this.lastTokenId; from += PAGE) {
      const to = Math.min(from + PAGE, this.lastTokenId);
      const page = await readable(() => this.#tokens(from, to));
      if (page !== undefined) {
        yield* page;
        continue;
      }
      for (let id = from; id < to; id += 1) {
        yield* (await readable(() => this.#tokens(id, id + 1))) ?? [];
      }
    }
  }

  /** Access tokens with ids above `from` up to `to`. */
  async #tokens(from: number, to: number): Promise<readonly StoredRow[]> {
    const rows = await this.connection.rows(
      'SELECT * FROM access_token NOT INDEXED WHERE id > ? AND id <= ? ORDER BY id',
      [from, to],
    );
    return rows.map(storedToken);
  }
}

/** What can be read of a damaged file; undefined where it cannot. */
async function readable<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isDamage(error) || isReadOnly(error)) return undefined;
    throw error;
  }
}

async function isIntact(connection: SqlConnection): Promise<boolean> {
  const rows = await readable(() => connection.rows('PRAGMA integrity_check(1)'));
  return rows?.[0]?.['integrity_check'] === 'ok';
}
