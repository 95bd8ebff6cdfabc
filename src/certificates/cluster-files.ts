/** The files of an authority and of the certificates that it has signed for the nodes of a cluster, in one folder. */
import { existsSync } from 'node:fs';
import { link, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../files/folder';
import { writeSynced } from '../files/synced';
import { makeAuthority, signCertificate, type Certified } from './certificate';

const AUTHORITY_DAYS = 3650;
const NODE_DAYS = 825;

/** What was made, and what was there. */
export interface MadeFiles {
  readonly made: readonly string[];
  readonly kept: readonly string[];
}

/**
 * Writes two files that belong together. Neither has its name before both are written whole: where the disk is full there is
 * neither, and the next run makes both. The key gets its name first, and of two runs at one time only one can give it that.
 */
async function writePair(files: readonly { readonly path: string; readonly text: string }[]): Promise<void> {
  const unfinished = (path: string): string => `${path}.${process.pid}.tmp`;
  try {
    for (const { path, text } of files) await writeSynced(unfinished(path), text);
    for (const { path } of files) await link(unfinished(path), path);
  } finally {
    for (const { path } of files) await rm(unfinished(path), { force: true });
  }
}

/**
 * Makes the authority where the folder has none, and a certificate for each node that has none. What is there stays.
 * @throws Error for an authority of which a part is missing, and of the system
 */
export async function makeClusterFiles(folder: string, name: string, nodes: number): Promise<MadeFiles> {
  await makeFolder(folder);
  const made: string[] = [];
  const kept: string[] = [];
  const pair = async (stem: string, make: () => Certified): Promise<Certified> => {
    const [cert, key] = [`${stem}.pem`, `${stem}.key`].map((file) => join(folder, file)) as [string, string];
    const there = [cert, key].filter((path) => existsSync(path));
    if (there.length === 1) {
      throw new Error(`${there.join('')} is there and the other file of ${stem} is not: move it away`);
    }
    if (there.length === 2) {
      kept.push(cert, key);
      return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
    }
    const certified = make();
    await writePair([
      { path: key, text: certified.key },
      { path: cert, text: certified.cert },
    ]);
    made.push(cert, key);
    return certified;
  };
  const authority = await pair('ca', () => makeAuthority(`${name} authority`, AUTHORITY_DAYS));
  for (let node = 1; node <= nodes; node += 1) {
    await pair(`node-${node}`, () => signCertificate(authority, name, NODE_DAYS));
  }
  await syncFolder(folder);
  return { made, kept };
}
