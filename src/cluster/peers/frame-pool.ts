import { authority } from '../../http/listen';
import type { PeerAddress } from './client';
import { PeerUnreachable } from './errors';
import { FramedPeer, type FramedOptions } from './frame-client';
import type { PeerSecurity, PeerTls } from './security';

/** A node that knew no frames is asked for them again after this: it may be of a later release then. */
const WITHOUT_MS = 10_000;
/** Nodes that knew no frames are forgotten beyond so many. */
const MAX_WITHOUT = 256;

/** One connection for frames to each node. */
export class FramedPeers {
  readonly #opened = new Map<string, FramedPeer>();
  readonly #opening = new Map<string, Promise<FramedPeer | undefined>>();
  /** Until when nodes that knew no frames are not asked for them. */
  readonly #without = new Map<string, number>();
  /** Of certificates that were replaced; they close when their questions are answered. */
  readonly #retired = new Set<FramedPeer>();
  #isClosed = false;

  constructor(
    private security: PeerSecurity,
    private readonly limits: Omit<FramedOptions, 'security'>,
  ) {}

  /** The connection that is open. */
  opened({ host, port }: PeerAddress): FramedPeer | undefined {
    const connection = this.#opened.get(authority(host, port));
    return connection?.isOpen === true ? connection : undefined;
  }

  /**
   * The connection that is open, or a new one; undefined where the other node knows no frames.
   * @throws PeerUnreachable
   */
  open(peer: PeerAddress): Promise<FramedPeer | undefined> {
    const name = authority(peer.host, peer.port);
    if (this.#isClosed) return Promise.reject(new PeerUnreachable(name, 'this node stops'));
    const opened = this.opened(peer);
    if (opened !== undefined) return Promise.resolve(opened);
    if ((this.#without.get(name) ?? 0) > performance.now()) return Promise.resolve(undefined);
    const known = this.#opening.get(name);
    if (known !== undefined) return known;
    const opening = this.#openNew(peer, name).finally(() => {
      if (this.#opening.get(name) === opening) this.#opening.delete(name);
    });
    this.#opening.set(name, opening);
    return opening;
  }

  async #openNew(peer: PeerAddress, name: string): Promise<FramedPeer | undefined> {
    const { security, limits } = this;
    const connection = await FramedPeer.open(peer, { ...limits, security });
    if (connection === undefined) {
      if (this.#without.size >= MAX_WITHOUT) this.#without.clear();
      this.#without.set(name, performance.now() + WITHOUT_MS);
      return undefined;
    }
    this.#without.delete(name);
    if (this.#isClosed) {
      connection.destroy();
      throw new PeerUnreachable(name, 'this node stops');
    }
    if (security !== this.security) {
      connection.destroy();
      return this.#openNew(peer, name);
    }
    this.#opened.set(name, connection);
    connection.whenClosed(() => {
      if (this.#opened.get(name) === connection) this.#opened.delete(name);
      this.#retired.delete(connection);
    });
    return connection;
  }

  /** New connections have this certificate. */
  useCertificate(tls: PeerTls): void {
    this.security = tls;
    this.#opening.clear();
    for (const connection of this.#opened.values()) {
      this.#retired.add(connection);
      connection.retire();
    }
    this.#opened.clear();
  }

  /** Closes all; what is under way fails. */
  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#opened.values(), ...this.#retired]) connection.destroy();
    this.#opened.clear();
    this.#retired.clear();
  }
}
