import { HttpTransport, type HttpRequest } from '../client/http-transport';
import { DEFAULT_RETRIES, Retries } from '../client/retries';

/** Milliseconds of one request and its retries. */
const TIMEOUT_MS = 300_000;

/** Reads from a server over HTTP. What fails and may pass is tried again. */
export class SourceServer {
  readonly #http: HttpTransport;
  readonly #retries = new Retries(DEFAULT_RETRIES);

  /** `headers` have the credential. @throws TypeError when the URL is none of `http:` or `https:` */
  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#http = new HttpTransport(url, { headers });
  }

  /** The parsed body of a success. @throws KithError */
  get(path: string): Promise<unknown> {
    return this.#read({ method: 'GET', path });
  }

  /** The parsed body of a success, for reads that have a body. @throws KithError */
  post(path: string, body: unknown): Promise<unknown> {
    return this.#read({ method: 'POST', path, body });
  }

  /** The body of a success as it came. @throws KithError */
  postForBytes(path: string, body: unknown): Promise<Uint8Array> {
    return this.#repeated((signal) => this.#http.requestBytes({ method: 'POST', path, body, signal }));
  }

  async close(): Promise<void> {
    this.#retries.close();
    await this.#http.close();
  }

  #read(request: HttpRequest): Promise<unknown> {
    return this.#repeated((signal) => this.#http.request({ ...request, signal }));
  }

  #repeated<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return this.#retries.run(true, signal, () => work(signal));
  }
}
