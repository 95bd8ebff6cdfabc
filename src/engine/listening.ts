import { getSystemErrorName } from 'node:util';
import { loadBinding } from './load';

/**
 * Listens on an IP address, and gives so many descriptors. Each is to be closed once.
 * @throws an error with the code of the system, such as `EADDRINUSE`.
 */
export function listeningDescriptors(address: string, port: number, count: number): readonly number[] {
  const { descriptors, error } = loadBinding().listen(address, port, count);
  if (descriptors.length === count) return descriptors;
  const code = error === undefined ? 'ENOTSUP' : getSystemErrorName(-error);
  throw Object.assign(new Error(`listen ${code}`), { code, syscall: 'listen' });
}
