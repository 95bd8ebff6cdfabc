import { lookup } from 'node:dns/promises';
import { cannotListen } from '../http/listen';

/**
 * Listens on an address with so many descriptors, one for each server.
 * @throws StartError saying why the address cannot be used.
 */
export async function shareListening(port: number, host: string, count: number): Promise<readonly number[]> {
  try {
    const { address } = await lookup(host);
    const { listeningDescriptors } = await import('../engine/listening.js');
    return listeningDescriptors(address, port, count);
  } catch (error) {
    throw cannotListen(error, port, host);
  }
}
