import type { Config } from '../config';
import type { Console } from './console';
import { numberFlag, requiredFlag } from './flags';
import type { GivenFlags } from './verbs';

const NODES = 3;
const MAX_NODES = 1000;

/** `kithdb cluster certificates`: an authority, and a certificate for each node. */
export async function clusterCertificates(
  { clusterName }: Config,
  console: Console,
  flags: GivenFlags,
): Promise<undefined> {
  const folder = requiredFlag(flags, 'to', 'FOLDER');
  const nodes = numberFlag(flags, 'nodes', { lowest: 1, highest: MAX_NODES, fallback: NODES });
  const { makeClusterFiles } = await import('../certificates/cluster-files.js');
  const files = await makeClusterFiles(folder, clusterName, nodes);
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(files)}\n`);
    return;
  }
  const lines = [
    ...files.made.map((path) => `Made ${path}`),
    ...files.kept.map((path) => `Kept ${path}, which was there`),
  ];
  console.stdout.write(`${lines.join('\n')}\n`);
}
