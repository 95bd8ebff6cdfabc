import type { Float32Client } from './answered-vectors';
import { KithClient, type ClientOptions } from './client';
import { HttpTransport, type RetryingHttpOptions } from './http-transport';
import { Retries, retrying, retryPolicy } from './retries';
import { RemoteSnapshots } from './snapshots';
import type { CallOptions, Schemas } from './types';

/** How to reach a server and how the client behaves. */
export type ConnectOptions = RetryingHttpOptions & ClientOptions;

/** What a new access token may do and how long it lives. */
export type NewAccessToken = Schemas['NewAccessToken'] & { readonly expires_in_seconds?: number };

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
    const policy = retryPolicy(retry);
    const transport = new HttpTransport(url, options);
    const retries = new Retries(policy);
    super(retrying(transport, policy), new RemoteSnapshots(transport, retries), options);
    this.#http = transport;
    this.#retries = retries;
  }

  override async close(): Promise<void> {
    this.#retries.close();
    await super.close();
  }

  /**
   * The highest positions of what this client wrote to a cluster (C30.4); undefined where it wrote nothing, or there is no cluster. Another
   * client that reads with it as `position` of a call's options sees these writes.
   */
  get position(): string | undefined {
    return this.#http.position;
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

  async #auth<T>(method: string, path: string, body: unknown, options?: CallOptions): Promise<T> {
    const answer = await this.timed(options, (signal) =>
      this.#retries.run(method === 'GET', signal, () =>
        this.#http.request({ method, path: `/auth/${path}`, body, signal }),
      ),
    );
    return answer as T;
  }
}
