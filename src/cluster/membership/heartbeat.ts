/** What nodes tell each other twice a second. */
import { isCount, isObject, objectIn } from '../json';

/** How far a replica is. */
export interface ReplicaReport {
  /** Up to where it has read its stream. */
  readonly position: number;
  /** The position of the last record that changed it. */
  readonly changed: number;
  /**
   * How many messages of its stream it has not applied. A replica that is being filled is reported from the time on when it
   * reads the stream.
   */
  readonly behind: number;
}

export interface Heartbeat {
  readonly node: string;
  /** Where it listens for other nodes. */
  readonly address: string;
  /** Another one after each start of the node. */
  readonly start: string;
  /** One more with each heartbeat since its start. */
  readonly count: number;
  /** Version of the shard map that it has. */
  readonly mapVersion: number;
  /** Requests that it works on. */
  readonly underWay: number;
  readonly replicas: ReadonlyMap<string, ReplicaReport>;
  /** Up to where the replicas have read that are not among those; absent where there are none. */
  readonly catchingUp?: ReadonlyMap<string, number>;
}

/** The key of a replica in a heartbeat. */
export function replicaKey(collection: number, shard: number): string {
  return `${collection}/${shard}`;
}

const FORMAT = 1;

export function encodeHeartbeat({ replicas, catchingUp, ...rest }: Heartbeat): Uint8Array {
  const listed = Object.fromEntries(
    [...replicas].map(([key, { position, behind, changed }]) => [key, [position, behind, changed]]),
  );
  const others = catchingUp && { catchingUp: Object.fromEntries(catchingUp) };
  return Buffer.from(JSON.stringify({ format: FORMAT, ...rest, replicas: listed, ...others }));
}

/** Undefined for bytes that are no heartbeat. Fields that a later release added are left out. */
export function decodeHeartbeat(bytes: Uint8Array): Heartbeat | undefined {
  const value = objectIn(bytes) ?? {};
  const { node, address, start, count, mapVersion, underWay, replicas, catchingUp } = value;
  if (typeof node !== 'string' || typeof address !== 'string' || typeof start !== 'string') return undefined;
  if (!isCount(count) || !isCount(mapVersion) || !isCount(underWay)) return undefined;
  if (typeof replicas !== 'object' || replicas === null) return undefined;
  const reports = new Map<string, ReplicaReport>();
  for (const [key, report] of Object.entries(replicas)) {
    if (!Array.isArray(report)) return undefined;
    const [position, behind, changed] = report as unknown[];
    if (!isCount(position) || !isCount(behind) || !isCount(changed)) return undefined;
    reports.set(key, { position, behind, changed });
  }
  return {
    ...{ node, address, start, count, mapVersion, underWay, replicas: reports },
    ...(isObject(catchingUp) && { catchingUp: countsOf(catchingUp) }),
  };
}

function countsOf(values: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> {
  return new Map(Object.entries(values).filter((entry): entry is [string, number] => isCount(entry[1])));
}
