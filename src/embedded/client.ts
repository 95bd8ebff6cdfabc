import { resolve } from 'node:path';
import type { Float32Client } from '../client/answered-vectors';
import { KithClient, type ClientOptions } from '../client/client';
import type { SnapshotCalls } from '../client/snapshots';
import { openFolder, type OpenOptions } from './open';
import type { EmbeddedTransport } from './transport';

/** How to open a folder, and how its client behaves. */
export interface EmbeddedOptions extends OpenOptions, ClientOptions {}

/** A database in a folder, without a server. Make one with {@link open}. */
export class EmbeddedClient extends KithClient {
  readonly #transport: EmbeddedTransport;

  constructor(transport: EmbeddedTransport, snapshots: SnapshotCalls, options: ClientOptions) {
    super(transport, snapshots, options);
    this.#transport = transport;
  }

  /**
   * What this process is in the folder at the moment: `owner`, `attached to process 7` or `waiting for an owner`; undefined
   * when it is closed.
   */
  get role(): string | undefined {
    return this.#transport.role();
  }
}

/**
 * Opens a folder, which is created when it is missing, for this process and any others at the same time (C18). Methods and
 * arguments are those of `connect`. `close()` leaves the folder to the others.
 * @throws Error that says why it cannot be opened.
 */
export function open(
  folder: string,
  options: EmbeddedOptions & { readonly float32Vectors: true },
): Promise<Float32Client<EmbeddedClient>>;
export function open(folder: string, options?: EmbeddedOptions): Promise<EmbeddedClient>;
export async function open(folder: string, options: EmbeddedOptions = {}): Promise<unknown> {
  const { readOnly = false } = options;
  const dataDir = resolve(folder);
  const { EmbeddedSnapshots } = await import('./snapshots.js');
  const transport = await openFolder(dataDir, options);
  return new EmbeddedClient(transport, new EmbeddedSnapshots(transport, { dataDir, readOnly }), options);
}
