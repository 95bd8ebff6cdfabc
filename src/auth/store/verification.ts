import { isBusy, isDamage, isReadOnly, type SqlConnection } from './connection';
import { DigestBuilder, LaterDigest, StoreDigest } from './digest';
import { DIGEST_FILE, type Recorded } from './digest-file';
import { NO_CHECKSUM, parseAuthState } from './port';
import { countedRows, lastTokenId, ownDigest, type StoredRow } from './rows';
import {
  FORMER_SCHEMA_VERSION,
  LIMITS_SCHEMA_VERSION,
  NO_SCHEMA,
  SCHEMA_VERSION,
  schemaVersion,
} from './schema';

/** What is wrong with the store or with the digest beside it. */
export interface StoreProblem {
  readonly file: 'store' | 'digest';
  readonly what: string;
}

/** What a verification found. */
export interface Verified {
  /** The digest that the store keeps of itself, where that can be read. */
  readonly own: StoreDigest | undefined;
  readonly problems: readonly StoreProblem[];
}

/** Problems that are listed. */
const MAX_PROBLEMS = 20;
/** The generation of a store that was just made, or completed: a kill may come before its file. */
const FIRST_GENERATION = 1;

/**
 * Verifies a store: the file as SQLite sees it, each row, all of them together, and what the file beside it says.
 * @throws errors that are not about the content: no memory, no room for SQLite's own files, a later release.
 */
export async function verifyStore(connection: SqlConnection, recorded: Recorded): Promise<Verified> {
  const problems: StoreProblem[] = [];
  const found = (what: string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push({ file: 'store', what });
  };
  let own: StoreDigest | undefined;
  try {
    await checkIntegrity(connection, found);
    const version = await schemaVersion(connection);
    if (version === 0) {
      found(NO_SCHEMA);
    } else if (version === FORMER_SCHEMA_VERSION) {
      await checkFormer(connection, recorded, found);
    } else if (version === SCHEMA_VERSION || version === LIMITS_SCHEMA_VERSION) {
      own = await checkRows(connection, version, found);
    } else {
      found(`it has the unknown schema ${version}`);
    }
  } catch (error) {
    if (error instanceof LaterDigest || isBusy(error) || !(isDamage(error) || isReadOnly(error))) {
      throw error;
    }
    found((error as Error).message);
  }
  const besides = own === undefined ? undefined : compared(own, recorded);
  return { own, problems: besides === undefined ? problems : [...problems, besides] };
}

async function checkIntegrity(connection: SqlConnection, found: (what: string) => void): Promise<void> {
  const rows = await connection.rows(`PRAGMA integrity_check(${MAX_PROBLEMS})`);
  for (const row of rows) {
    const said = String(row['integrity_check']);
    if (said !== 'ok') found(said);
  }
}

/** A store of the former schema has nothing to verify its rows by. */
async function checkFormer(
  connection: SqlConnection,
  recorded: Recorded,
  found: (what: string) => void,
): Promise<void> {
  if (recorded.state !== 'absent') {
    found(`it is older than ${DIGEST_FILE}: an earlier release wrote it`);
  }
  const [row] = await connection.rows("SELECT value FROM setting WHERE name = 'auth_enabled'");
  if (row !== undefined) checkState(String(row['value']), found);
}

function checkState(value: string | undefined, found: (what: string) => void): void {
  if (value === undefined) {
    found('the setting auth_enabled is missing');
  } else if (parseAuthState(value) === undefined) {
    found(`the setting auth_enabled has the unknown value ${JSON.stringify(value)}`);
  }
}

async function checkRows(
  connection: SqlConnection,
  version: number,
  found: (what: string) => void,
): Promise<StoreDigest | undefined> {
  let state: string | undefined;
  const sums = new DigestBuilder();
  for await (const row of countedRows(connection)) {
    if (!row.verifies) found(`${nameOf(row)} is not what was written`);
    if (row.kind === 'setting' && row.name === 'auth_enabled') state = row.value;
    sums.add(row.counted);
  }
  checkState(state, found);
  const text = await ownDigest(connection);
  const own = text === undefined ? undefined : StoreDigest.parse(text);
  if (own === undefined) {
    found(text === undefined ? 'the digest of its rows is missing' : 'the digest of its rows is damaged');
    return undefined;
  }
  if (own.schema !== version) {
    found(`it has the schema ${version}, and ${own.schema} was written`);
  }
  for (const what of sums.build(own.generation, own.lastTokenId).differences(own)) {
    found(`${what}: rows are missing, or there are others than were written`);
  }
  if ((await lastTokenId(connection)) !== own.lastTokenId) {
    found('the number of the last access token is not what was written');
  }
  return own;
}

function nameOf(row: StoredRow): string {
  switch (row.kind) {
    case 'admin':
      return 'the admin';
    case 'setting':
      return `the setting ${row.name}`;
    case 'token':
      return `the access token with the id ${row.token.id}`;
  }
}

/** What is wrong between a store that says `own` of itself and the file beside it. */
function compared(own: StoreDigest, recorded: Recorded): StoreProblem | undefined {
  switch (recorded.state) {
    case 'absent':
      return own.generation === FIRST_GENERATION
        ? undefined
        : { file: 'digest', what: 'there is no such file' };
    case 'damaged':
      return { file: 'digest', what: NO_CHECKSUM };
    case 'sound': {
      const { digest } = recorded;
      // A newer store is one whose file a kill prevented: its rows verify by the digest that was committed with them.
      if (own.generation > digest.generation) return undefined;
      if (own.generation < digest.generation) {
        const what = `it is older (generation ${own.generation}) than ${DIGEST_FILE} (generation ${digest.generation})`;
        return { file: 'store', what };
      }
      const what = `it has other rows than ${DIGEST_FILE} says of the same generation ${own.generation}`;
      return own.text === digest.text ? undefined : { file: 'store', what };
    }
  }
}
