import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, SocketAddress, type Socket } from 'node:net';

/** The parts of a request that say which address it comes from. */
export type Addressed = Pick<IncomingMessage, 'headers'> & {
  readonly socket: Pick<Socket, 'remoteAddress'>;
};

/** Proxies behind one another that are believed. */
const MAX_PROXIES = 32;

/** What is known of the peer of a connection. */
interface Peer {
  readonly address: string;
  readonly trusted: boolean;
}

/**
 * The addresses that requests count for: the peer of the socket, or what a trusted proxy says of it. They decide shares
 * and the throttle of logins, and never whether a caller is local (C3.3).
 */
export class ClientAddresses {
  readonly #trusted = new BlockList();
  readonly #trustsAny: boolean;
  /** By socket, since a connection keeps its peer. */
  readonly #peers = new WeakMap<object, Peer>();

  /** @param trustedProxies blocks such as `10.0.0.0/8` and `2001:db8::/32`, as the setting has them */
  constructor(trustedProxies: readonly string[]) {
    this.#trustsAny = trustedProxies.length > 0;
    for (const block of trustedProxies) {
      const [address = '', prefix = ''] = block.split('/');
      this.#trusted.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6');
    }
  }

  /**
   * The address of the client as canonical text; an IPv4-mapped one as IPv4, and `''` when the socket has none. Behind
   * trusted proxies it is the last address that none of them set. What they set and nobody can read counts as the peer,
   * and so do `X-Forwarded-For` and `Forwarded` that contradict each other: a proxy writes one of them and passes on what a
   * client has written into the other.
   */
  of(request: Addressed): string {
    const peer = this.#peerOf(request.socket);
    return peer.trusted ? (this.#forwardedTo(request.headers) ?? peer.address) : peer.address;
  }

  /** Whether a request says that it is passed on, by a peer that is no trusted proxy: its address may be that of many. */
  isPassedOnByUnknown(request: Addressed): boolean {
    const { 'x-forwarded-for': listed, forwarded } = request.headers;
    return (listed ?? forwarded) !== undefined && !this.#peerOf(request.socket).trusted;
  }

  #peerOf(socket: Addressed['socket']): Peer {
    let peer = this.#peers.get(socket);
    if (peer === undefined) {
      const address = canonicalAddress(socket.remoteAddress ?? '') ?? '';
      peer = { address, trusted: this.#trusts(address) };
      this.#peers.set(socket, peer);
    }
    return peer;
  }

  #trusts(address: string): boolean {
    return (
      this.#trustsAny && address !== '' && this.#trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
    );
  }

  #forwardedTo(headers: IncomingMessage['headers']): string | undefined {
    const { 'x-forwarded-for': listed, forwarded } = headers;
    const found = new Set<string | undefined>();
    if (listed !== undefined) {
      found.add(this.#lastUntrusted([listed].flat().join(',').split(',')));
    }
    if (forwarded !== undefined) {
      found.add(this.#lastUntrusted(nodesOf(forwarded)));
    }
    return found.size === 1 ? [...found][0] : undefined;
  }

  /**
   * The address of the last node that is no trusted proxy, or else of the first; undefined when one that counts cannot be
   * read, or there are too many. Those before it are not looked at: a client may send thousands.
   */
  #lastUntrusted(nodes: readonly string[]): string | undefined {
    let address: string | undefined;
    for (let proxies = 0; proxies < nodes.length; proxies += 1) {
      address = proxies > MAX_PROXIES ? undefined : addressOfNode(nodes.at(-1 - proxies) ?? '');
      if (address === undefined || !this.#trusts(address)) {
        break;
      }
    }
    return address;
  }
}

/** An IP address as canonical text, without its zone; an IPv4-mapped one as IPv4. Undefined for any other text. */
export function canonicalAddress(text: string): string | undefined {
  const [address = ''] = text.split('%');
  if (isIP(text) !== 6) {
    return isIPv4(text) ? text : undefined;
  }
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address;
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonical)?.[1] ?? canonical;
}

/**
 * What shares are counted for: an IPv4 address, or the /64 from which one IPv6 host picks its addresses.
 * @param address canonical text
 */
export function networkOf(address: string): string {
  return prefixOf(address, 4);
}

/**
 * What bounds count for that one attacker must not escape: an IPv4 address, or the /48 that one IPv6 customer may have.
 * @param address canonical text
 */
export function siteOf(address: string): string {
  return prefixOf(address, 3);
}

/** The first groups of 16 bits of an IPv6 address; any other address unchanged. */
function prefixOf(address: string, groups: number): string {
  if (!address.includes(':')) {
    return address;
  }
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  // An IPv4 address at the end stands for two groups.
  const written = left.length + right.length + (address.includes('.') ? 1 : 0);
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - written }, () => '0');
  return `${[...left, ...zeros, ...right].slice(0, groups).join(':')}::/${groups * 16}`;
}

/** One parameter of a `Forwarded` header (RFC 7239), and the separator after it. */
const PARAMETER = /[ \t]*([\w-]+)=(?:([^\s";,]+)|"((?:[^"\\]|\\.)*)")[ \t]*([;,]|$)/y;

/** The `for` of each element of a `Forwarded` header, `''` for one without; a header with a fault is one such element. */
function nodesOf(header: string): readonly string[] {
  const nodes: string[] = [];
  let node = '';
  PARAMETER.lastIndex = 0;
  for (;;) {
    const [, name = '', plain, quoted = '', separator] = PARAMETER.exec(header) ?? [];
    if (separator === undefined) {
      return [''];
    }
    if (name.toLowerCase() === 'for') {
      node = plain ?? quoted.replaceAll(/\\(.)/g, '$1');
    }
    if (separator !== ';') {
      nodes.push(node);
      node = '';
    }
    if (separator === '') {
      return nodes;
    }
  }
}

/** The address of a forwarded node, which may have a port: `192.0.2.7:80`, `[2001:db8::7]:80`. */
function addressOfNode(node: string): string | undefined {
  const text = node.trim();
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  return canonicalAddress(bracketed ?? plain ?? text);
}
