import type { Logger } from 'pino';
import type { LocalTokenStore } from './store/change';
import type { TokenStore } from './store/port';

/** What replication is given of the node. */
export interface ReplicatedNode {
  readonly log: Logger;
  /** The secret of the node's settings that signs JWTs: it is used in place of that of the cluster, and not given to it. */
  readonly jwtSecret: string | undefined;
}

/** How the stores of the nodes of a cluster are kept the same. */
export interface AuthReplication {
  /**
   * The store of the cluster, over that of this node: resolves when this node has all that had been changed at the time of
   * the call. Closing it closes the node's own. Where this fails, the caller closes that.
   * @throws AuthStartError that says why the node cannot take part.
   * @throws StoreDamaged
   */
  join(own: LocalTokenStore, node: ReplicatedNode): Promise<TokenStore>;
}
