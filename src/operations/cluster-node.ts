/** Data directories of nodes of a cluster: a file says whose they are. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file of a data directory that says who the node is: `src/cluster/membership/identity.ts` writes it. */
export const NODE_FILE = 'cluster.json';

/**
 * Says that a data directory is that of a node of a cluster, which nobody else may change: it would differ from the other
 * nodes. Undefined for another directory.
 */
export function whyOfCluster(dataDir: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(join(dataDir, NODE_FILE), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
  const [, name] = /"cluster":"([a-z0-9-]+)"/.exec(text) ?? [];
  return `${dataDir} belongs to a node of ${name === undefined ? 'a cluster' : `the cluster ${name}`}`;
}

/** @throws Error where a data directory is that of a node: `advice` says what to do in place of it. */
export function refuseNode(dataDir: string, advice: string): void {
  const why = whyOfCluster(dataDir);
  if (why !== undefined) throw new Error(`${why}: ${advice}`);
}
