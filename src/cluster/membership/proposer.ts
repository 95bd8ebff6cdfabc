import { nodeIds, type ShardMapState } from '../map/state';
import type { Members } from './members';

/** A node that looks whether it is the one that proposes for the cluster. */
export interface PossibleProposer {
  /** Its id. */
  readonly node: string;
  readonly map: { readonly state: ShardMapState };
  readonly members: Pick<Members, 'proposer'>;
}

/** Whether a node is the one that proposes what failures demand; two may believe that at a time. */
export function isProposer({ node, map, members }: PossibleProposer): boolean {
  return members.proposer(nodeIds(map.state)) === node;
}
