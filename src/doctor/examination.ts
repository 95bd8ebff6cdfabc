import { readFileSync } from 'node:fs';
import type { Config } from '../config';
import { checkAuthentication } from './authentication';
import { checkDisk } from './disk';
import type { Finding } from './finding';
import { checkEngine, checkHugePages, checkLimits, checkMemory, checkNode, checkProcessors } from './machine';
import { checkCertificate, checkCluster, checkPort, checkStore } from './service';

/** Goes through everything that a server of these settings needs of its machine. It changes nothing but a file of its own. */
export async function examine(config: Config): Promise<readonly Finding[]> {
  return [
    checkNode(),
    await checkEngine(),
    checkProcessors(config),
    checkMemory(config),
    checkHugePages(),
    ...checkLimits(config, readText),
    ...(await checkDisk(config)),
    await checkStore(config),
    ...(await checkAuthentication(config)),
    await checkPort(config),
    ...checkCertificate(config),
    ...(await checkCluster(config)),
  ];
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // Not Linux, or a container without it.
    return undefined;
  }
}
