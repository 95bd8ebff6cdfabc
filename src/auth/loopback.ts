import { isIP, isIPv4 } from 'node:net';

/** The IPv4 address of an IPv4-mapped IPv6 address (`::ffff:127.0.0.1`); any other address unchanged. */
export function unmapped(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/** Whether an address of a socket is this machine's own: 127.0.0.0/8, `::1`, and the former as an IPv6 address. */
export function isLoopbackAddress(address: string): boolean {
  const plain = unmapped(address);
  return plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}

/** Whether a host name or address, without a port, can only mean this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name);
}

/** Whether a `Host` header names this machine: a loopback name or address, with or without a port. */
export function namesLoopback(header: string | undefined): boolean {
  const host = hostOf(header);
  return host !== undefined && isLoopbackHost(host);
}

/** Whether a `Host` header is an IP address, with or without a port. */
export function namesAddress(header: string | undefined): boolean {
  return isIP(hostOf(header) ?? '') !== 0;
}

/** The name or address of a `Host` header, without brackets and port; undefined when it is none. */
function hostOf(header: string | undefined): string | undefined {
  const parts = /^(?:\[([0-9a-f:.]+)\]|([^[\]:/?#@\s]+))(?::\d{1,5})?$/i.exec(header ?? '');
  return parts?.[1] ?? parts?.[2];
}
