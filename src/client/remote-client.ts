import type { Float32Client } from './answered-vectors';
import { KithClient, type ClientOptions } from './client';
import { HttpTransport, type RetryingHttpOptions } from './http-transport';
import { DEFAULT_RETRIES, Retries, retrying } from './retries';
import type { CallOptions, Schemas } from './types';

/** How to reach a server and how the client behaves. */
export type ConnectOptions = RetryingHttpOptions & ClientOptions;

/** What a new access token may do and how long it lives. */
export type NewAccessToken = Schemas['NewAccessToken'] & { readonly expires_in_seconds?: number };

/** What Qdrant's client takes when a snapshot is made or removed; on one node it has no effect. */
export interface SnapshotFlags {
  readonly wait?: boolean;
}

type Snapshot = Schemas['SnapshotDescription'];

function snapshotsOf(collection: string): string {
  return `/collections/${encodeURIComponent(collection)}/snapshots`;
}

function flagsOf({ wait }: SnapshotFlags): string {
  return wait === undefined ? '' : `?wait=${wait}`;
}

interface Done {
  readonly status: 'success';
  readonly message: string;
}

/** A client of a server over HTTP. No connection is made before the first call. */
export function connect(
  url: string,
  options: ConnectOptions & { readonly float32Vectors: true },
): Float32Client<RemoteClient>;
export function connect(url: string, options?: ConnectOptions): RemoteClient;
export function connect(url: string, options: ConnectOptions = {}): unknown {
  return new RemoteClient(url, options);
}

/** A client over HTTP, which also has the calls about authentication (C3). Make one with {@link connect}. */
export class RemoteClient extends KithClient {
  readonly #http: HttpTransport;
  readonly #retries: Retries;

  /** @throws TypeError when the URL is none of `http:` or `https:`. */
  constructor(url: string, { retry, ...options }: ConnectOptions = {}) {
    const policy = { ...DEFAULT_RETRIES, ...retry };
    const transport = new HttpTransport(url, options);
    super(retrying(transport, policy), options);
    this.#http = transport;
    this.#retries = new Retries(policy);
  }

  override async close(): Promise<void> {
    this.#retries.close();
    await super.close();
  }

  /** Whether the admin has been created. */
  async adminExists(options?: CallOptions): Promise<boolean> {
    const answer = await this.#auth<Schemas['AuthBooleanAnswer']>('GET', 'admin/exists', undefined, options);
    return answer.result;
  }

  /** Creates the admin. Only a server on the same machine answers it. */
  createAdmin(password: string, options?: CallOptions): Promise<Done> {
    return this.#auth('POST', 'admin', { password }, options);
  }

  /** The admin's JWT, for the `token` of another {@link connect}. A wrong password is an `AuthenticationError`. */
  login(password: string, options?: CallOptions): Promise<Schemas['LoginResult'] & { token: string }> {
    return this.#auth('POST', 'admin/login', { password }, options);
  }

  /** Sets another password and ends every JWT issued before; needs the admin's JWT. */
  resetPassword(password: string, options?: CallOptions): Promise<Done> {
    return this.#auth('POST', 'admin/reset-password', { password }, options);
  }

  /** Switches authentication on or off; needs the admin's JWT. Gives the new state. */
  async setAuthEnabled(enabled: boolean, options?: CallOptions): Promise<boolean> {
    const answer = await this.#auth<Schemas['AuthBooleanAnswer']>('PATCH', 'enabled', { enabled }, options);
    return answer.result;
  }

  /** The access tokens, oldest first, without their values. This and what follows needs `admin`. */
  listAccessTokens(options?: CallOptions): Promise<Schemas['AccessToken'][]> {
    return this.#auth('GET', 'access_tokens', undefined, options);
  }

  /** Makes an access token. This answer alone has its value. */
  createAccessToken(token: NewAccessToken, options?: CallOptions): Promise<Schemas['IssuedAccessToken']> {
    return this.#auth('POST', 'access_token', token, options);
  }

  /** Gives an access token another value; the old one no longer counts. */
  rotateAccessToken(id: number, options?: CallOptions): Promise<Schemas['IssuedAccessToken']> {
    return this.#auth('POST', `access_token/${encodeURIComponent(id)}/rotate`, undefined, options);
  }

  deleteAccessToken(id: number, options?: CallOptions): Promise<Done> {
    return this.#auth('DELETE', `access_token/${encodeURIComponent(id)}`, undefined, options);
  }

  // Snapshots (C12), which a server answers in the dialect `qdrant`; otherwise each rejects with a `NotImplementedError`.
  // Making and recovering one may take as long as its disk does: `timeoutMs` says how long a call waits.

  /** The snapshots of a collection. */
  listSnapshots(collection: string, options?: CallOptions): Promise<Snapshot[]> {
    return this.#snapshots('GET', snapshotsOf(collection), undefined, options);
  }

  /** Makes a snapshot of a collection. */
  createSnapshot(collection: string, args: SnapshotFlags = {}, options?: CallOptions): Promise<Snapshot> {
    return this.#snapshots('POST', snapshotsOf(collection) + flagsOf(args), undefined, options);
  }

  /** True. A name that is not in the list is a `NotFoundError`. */
  deleteSnapshot(
    collection: string,
    name: string,
    args: SnapshotFlags = {},
    options?: CallOptions,
  ): Promise<boolean> {
    const path = `${snapshotsOf(collection)}/${encodeURIComponent(name)}${flagsOf(args)}`;
    return this.#snapshots('DELETE', path, undefined, options);
  }

  /** True: the collection is what the snapshot of that name had, or was made of it. */
  recoverSnapshot(
    collection: string,
    args: Schemas['SnapshotRecover'],
    options?: CallOptions,
  ): Promise<boolean> {
    return this.#snapshots('PUT', `${snapshotsOf(collection)}/recover`, args, options);
  }

  /** The snapshots of all collections. */
  listFullSnapshots(options?: CallOptions): Promise<Snapshot[]> {
    return this.#snapshots('GET', '/snapshots', undefined, options);
  }

  /** Makes a snapshot of all collections. */
  createFullSnapshot(args: SnapshotFlags = {}, options?: CallOptions): Promise<Snapshot> {
    return this.#snapshots('POST', `/snapshots${flagsOf(args)}`, undefined, options);
  }

  /** True. A name that is not in the list is a `NotFoundError`. */
  deleteFullSnapshot(name: string, args: SnapshotFlags = {}, options?: CallOptions): Promise<boolean> {
    return this.#snapshots(
      'DELETE',
      `/snapshots/${encodeURIComponent(name)}${flagsOf(args)}`,
      undefined,
      options,
    );
  }

  /** True: every collection of a snapshot of all is what it was; needs the admin's JWT. */
  recoverFullSnapshot(args: Schemas['SnapshotRecover'], options?: CallOptions): Promise<boolean> {
    return this.#snapshots('PUT', '/snapshots/recover', args, options);
  }

  async #snapshots<T>(method: string, path: string, body: unknown, options?: CallOptions): Promise<T> {
    const answer = await this.timed(options, (signal) =>
      this.#retries.run(method === 'GET', signal, () => this.#http.request({ method, path, body, signal })),
    );
    return (answer as { readonly result: T }).result;
  }

  async #auth<T>(method: string, path: string, body: unknown, options?: CallOptions): Promise<T> {
    const answer = await this.timed(options, (signal) =>
      this.#retries.run(method === 'GET', signal, () =>
        this.#http.request({ method, path: `/auth/${path}`, body, signal }),
      ),
    );
    return answer as T;
  }
}
