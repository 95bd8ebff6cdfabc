/**
 * A write as the stream of its collection has it: a header, and a body for each shard that it changes. One request is one
 * record, so all of its shards get their part or none does.
 *
 * Bytes: the length of the header (4, little-endian), the header as JSON, then the bodies in the order of its `parts`.
 */
import type { BodyForm } from '../../engine/native-call';
import type { EngineRequest, Operation } from '../../engine/types';

/** Later formats are refused: a node must not pass over what it does not understand. */
const FORMAT = 1;
/** A header has an operation, a target and a token's limits, each of which is bounded before. */
const MAX_HEADER_BYTES = 1 << 20;

/** A write, as the coordinator publishes it and the replicas apply it. */
export interface WriteRecord {
  readonly operation: Operation;
  /** As of the request: the field or the vector's name of the path. */
  readonly target?: string;
  /** Passes over what is harmless (C12). */
  readonly isLenient: boolean;
  /** The form of the bodies; JSON where absent. */
  readonly form?: BodyForm;
  /** The filter of the caller's token (C15), as JSON: the points that it may change. */
  readonly limits?: string;
  /** The node that waits for the answers. */
  readonly coordinator: string;
  /** The body of each shard; empty for an operation without one. */
  readonly parts: ReadonlyMap<number, Buffer>;
}

/** What of a request says which form its body has. */
export function formIn({ form }: WriteRecord): Pick<EngineRequest, 'packing' | 'isArrow' | 'isLines'> {
  return {
    ...(form === 'packed' && { packing: { body: true, answer: false } }),
    ...(form === 'arrow' && { isArrow: true }),
    ...(form === 'lines' && { isLines: true }),
  };
}

interface Header extends Omit<WriteRecord, 'parts'> {
  readonly format: number;
  readonly parts: readonly (readonly [shard: number, bytes: number])[];
}

export class BadRecord extends Error {
  override readonly name = 'BadRecord';
}

export function encodeWrite({ parts, ...rest }: WriteRecord): Buffer {
  const lengths = [...parts].map(([shard, body]) => [shard, body.length] as const);
  const header: Header = { format: FORMAT, ...rest, parts: lengths };
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, ...parts.values()]);
}

/** The record of some bytes; the bodies are views of them. @throws BadRecord */
export function decodeWrite(bytes: Buffer): WriteRecord {
  const headerBytes = bytes.length < 4 ? undefined : bytes.readUInt32LE(0);
  if (headerBytes === undefined || headerBytes > Math.min(MAX_HEADER_BYTES, bytes.length - 4)) {
    throw new BadRecord('it has no header');
  }
  const { format, parts: lengths, ...rest } = headerOf(bytes.toString('utf8', 4, 4 + headerBytes));
  if (format !== FORMAT) {
    throw new BadRecord(`it has the format ${String(format)}, and this release reads ${FORMAT}`);
  }
  let from = 4 + headerBytes;
  const parts = new Map<number, Buffer>();
  for (const [shard, length] of lengths) {
    parts.set(shard, bytes.subarray(from, (from += length)));
  }
  if (from !== bytes.length) {
    throw new BadRecord('its parts have other lengths than its header says');
  }
  return { ...rest, parts };
}

function headerOf(json: string): Header {
  try {
    return JSON.parse(json) as Header;
  } catch (error) {
    throw new BadRecord('its header is no JSON', { cause: error });
  }
}
