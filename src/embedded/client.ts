import { resolve } from 'node:path';
import type { Float32Client } from '../client/answered-vectors';
import { KithClient, type ClientOptions } from '../client/client';
import type { SnapshotCalls } from '../client/snapshots';
import { suggestion } from '../config/nearest';
import { openFolder, type OpenOptions } from './open';
import type { EmbeddedTransport } from './transport';

/** How to open a folder, and how its client behaves. */
export interface EmbeddedOptions extends OpenOptions, ClientOptions {}

/** The names of all options. */
const OPTIONS: Readonly<Record<keyof EmbeddedOptions, true>> = {
  exclusive: true,
  readOnly: true,
  timeoutMs: true,
  searchThreads: true,
  memoryLimit: true,
  calibrationPercent: true,
  allowFilesystem: true,
  models: true,
  batch: true,
  float32Vectors: true,
};

/** An option that is misspelt would be left out in silence: `readonly` would open the folder to write. */
function refuseUnknown(options: EmbeddedOptions): void {
  const known = Object.keys(OPTIONS);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = suggestion(name, known);
    const hint = meant === undefined ? `There are: ${known.join(', ')}` : `Did you mean ${meant}?`;
    throw new TypeError(`open has no option ${name}. ${hint}`);
  }
}

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
 * @throws TypeError for options that do not exist, are out of bounds or exclude each other, and for models that cannot be used.
 */
export function open(
  folder: string,
  options: EmbeddedOptions & { readonly float32Vectors: true },
): Promise<Float32Client<EmbeddedClient>>;
export function open(folder: string, options?: EmbeddedOptions): Promise<EmbeddedClient>;
export async function open(folder: string, options: EmbeddedOptions = {}): Promise<unknown> {
  refuseUnknown(options);
  const { readOnly = false } = options;
  const dataDir = resolve(folder);
  const { EmbeddedSnapshots } = await import('./snapshots.js');
  const transport = await openFolder(dataDir, options);
  return new EmbeddedClient(transport, new EmbeddedSnapshots(transport, { dataDir, readOnly }), options);
}
