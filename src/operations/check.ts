import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config';
import { storeProblems, storeRefusal, type StoreRefusal } from '../auth/store/copy';
import { DIGEST_FILE } from '../auth/store/digest-file';
import { STORE_FILE } from '../auth/store/file';
import { hasData } from '../auth/store/catalog';
import { StoreUnavailable } from '../auth/store/open';
import { MISSING_STORE, RESTORE_STORE } from '../auth/store/port';
import type { StoreProblem } from '../auth/store/verification';
import { checkEngineFiles } from '../engine/offline';
import { NODE_FILE, whyOfCluster } from './cluster-node';
import { requireDataDir } from './data-dir';
import { AUTH_FILES } from './data-files';

/** One line of a report. */
export interface Finding {
  /**
   * `note`: nothing is wrong; `derived`: it is built again; `damage`: data cannot be read; `unknown`: it could
   * not be read.
   */
  readonly severity: 'note' | 'derived' | 'damage' | 'unknown';
  /** Relative to the data directory. */
  readonly file: string;
  readonly collection: string | null;
  readonly what: string;
  readonly effect: string;
  readonly advice: string;
}

/** What a check found; the JSON of `kithdb check --json`. */
export interface CheckReport {
  readonly data_dir: string;
  /** Whether nothing but notes was found. */
  readonly clean: boolean;
  readonly findings: readonly Finding[];
  /** Findings beyond those that are listed. */
  readonly unlisted: number;
  readonly collections: readonly {
    readonly id: number;
    /** Null where it is lost. */
    readonly name: string | null;
    /** Live points; null when it would be quarantined, or would not be known. */
    readonly points: number | null;
    readonly fault: string | null;
  }[];
  readonly files: number;
  readonly bytes: number;
}

/** What else is to be done about damage in the directory of a node. */
function nodeFinding(what: string): Finding {
  return {
    ...{ severity: 'note', file: NODE_FILE, collection: null, what },
    effect:
      'the other nodes and the checkpoint store have its data too, and kithdb repair does not change it',
    advice:
      'where data are damaged, stop the node, empty the directory and start it again: its replicas are made anew. Where only the store of authentication is, kithdb admin repair',
  };
}

/**
 * Checks a data directory at rest, the store of authentication included. Nothing in it changes.
 * @throws Error when it cannot be checked at all: no data directory, a server that holds it, a later format.
 */
export async function checkDataDir(
  dataDir: string,
  tokenStore: Config['tokenStore'],
  collection?: string,
): Promise<CheckReport> {
  requireDataDir(dataDir);
  const native = await checkEngineFiles(dataDir, collection);
  const findings: Finding[] = native.findings.map((finding) => ({
    ...finding,
    severity: finding.severity as Finding['severity'],
    collection: finding.collection ?? null,
  }));
  if (collection === undefined) {
    findings.push(...(await storeFindings(dataDir, tokenStore)));
  }
  const ofCluster = findings.length === 0 ? undefined : whyOfCluster(dataDir);
  if (ofCluster !== undefined) findings.push(nodeFinding(ofCluster));
  return {
    data_dir: dataDir,
    clean: native.unlisted === 0 && findings.every(({ severity }) => severity === 'note'),
    findings,
    unlisted: native.unlisted,
    collections: native.collections.map(({ id, name, points, fault }) => ({
      id,
      name: name ?? null,
      points: points ?? null,
      fault: fault ?? null,
    })),
    files: native.files,
    bytes: native.bytes,
  };
}

async function storeFindings(dataDir: string, tokenStore: Config['tokenStore']): Promise<readonly Finding[]> {
  const hasNeither = AUTH_FILES.every((name) => !existsSync(join(dataDir, name)));
  if (hasNeither && tokenStore === 'memory') {
    return [];
  }
  const refusal = await storeRefusal(dataDir);
  if (refusal !== undefined) {
    return [unreadStore(refusal)];
  }
  try {
    const kind = tokenStore === 'memory' ? undefined : tokenStore;
    const problems = await storeProblems(dataDir, kind);
    const isUnknown = problems.length === 0 && hasNeither && (await hasData(dataDir));
    return isUnknown ? [unservedStore()] : problems.map(storeFinding);
  } catch (error) {
    if (error instanceof StoreUnavailable) {
      return [uncheckedStore(error)];
    }
    throw error;
  }
}

/** No store beside data whose catalog has no generation of one: no server with a store has served them. */
function unservedStore(): Finding {
  return {
    severity: 'note',
    file: STORE_FILE,
    collection: null,
    what: `${MISSING_STORE}, and the catalog knows of none: only programs have opened this folder, or servers that keep it in memory`,
    effect: 'a server begins authentication as at a first start',
    advice: 'nothing has to be done',
  };
}

/** A store that this user cannot read; nothing is known to be lost. */
function unreadStore({ what, advice }: StoreRefusal): Finding {
  const effect = 'a server of this user does not start; the collections are not affected';
  return { severity: 'damage', file: STORE_FILE, collection: null, what, effect, advice };
}

/** A store that could not be checked here; a server may be able to read it. */
function uncheckedStore({ message }: StoreUnavailable): Finding {
  return {
    severity: 'unknown',
    file: STORE_FILE,
    collection: null,
    what: message,
    effect: 'whether the admin and the access tokens can be read is not known; the collections were checked',
    advice: 'check again when that is mended',
  };
}

function storeFinding({ file, what }: StoreProblem): Finding {
  return {
    severity: 'damage',
    file: file === 'store' ? STORE_FILE : DIGEST_FILE,
    collection: null,
    what,
    effect:
      'a server is closed: it answers 500 to everybody; the admin and access tokens may be lost; the collections are not affected',
    advice: RESTORE_STORE,
  };
}
