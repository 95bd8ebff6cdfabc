import { lookup } from 'node:dns/promises';
import { cannotListen, SOCKETS_PER_LOOP } from '../http/listen';

/**
 * Listens on an address for so many event loops: the descriptors of each. Undefined for a single one that needs one socket,
 * where the engine, which makes the sockets, cannot be loaded (its own start says why), and where it cannot read the address.
 * @throws StartError saying why the address cannot be used.
 */
export async function shareListening(
  port: number,
  host: string,
  loops: number,
): Promise<readonly number[][] | undefined> {
  if (loops * SOCKETS_PER_LOOP === 1) return undefined;
  try {
    const { address } = await lookup(host);
    const { listeningDescriptors } = await import('../engine/listening.js');
    const all = listeningDescriptors(address, port, loops * SOCKETS_PER_LOOP);
    return Array.from({ length: loops }, (_, at) =>
      all.slice(at * SOCKETS_PER_LOOP, (at + 1) * SOCKETS_PER_LOOP),
    );
  } catch (error) {
    // The system names the call that it refused.
    if (loops === 1 && (error as NodeJS.ErrnoException).syscall === undefined) return undefined;
    throw cannotListen(error, port, host);
  }
}
