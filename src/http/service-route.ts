import { createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { EngineError, type Engine } from '../engine/types';
import { noteForAudit, type AuditFields } from './audit-fields';
import { sentenceOf, type Dialect } from './dialect';
import { engineFailure, type Failure } from './errors';
import type { Exchange } from './exchange';
import type { ServiceRoute } from './route-table';

/** A request to a service. */
export interface ServiceCall {
  readonly engine: Engine;
  /** Path parameters, percent-decoded once. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The request, whose body nobody has read. */
  readonly request: IncomingMessage;
  /** Asks a client that waits for it to send the body. */
  readonly wantBody: () => void;
  /** Adds fields to its line of the audit stream. */
  readonly note: (fields: AuditFields) => void;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** A file as an answer. */
export interface FileAnswer {
  readonly path: string;
  readonly bytes: number;
  /** The name under which a client may keep it. */
  readonly name: string;
}

/** About something of a request that was passed over (C12). */
export interface Warning {
  readonly message: string;
}

/** What a service answers. */
export type ServiceAnswer =
  | { readonly result: unknown; readonly warnings?: readonly Warning[] }
  | { readonly file: FileAnswer }
  | { readonly failure: Failure };

const READ_BYTES = 256 * 1024;

/** Has services of this process answer requests that have passed the checks. */
export class ServiceCalls {
  /** `fault` answers an unexpected error. */
  constructor(
    private readonly services: { readonly log: Logger; readonly dialect: Dialect },
    private readonly fault: (exchange: Exchange, error: unknown) => void,
  ) {}

  /** Answers the exchange. */
  run(exchange: Exchange, route: ServiceRoute, engine: Engine): void {
    const over = new AbortController();
    exchange.streamsBody = true;
    exchange.whenOver(() => {
      over.abort();
    });
    const call: ServiceCall = {
      engine,
      params: exchange.params,
      query: new URLSearchParams(exchange.queryString),
      request: exchange.request,
      wantBody: () => {
        if (exchange.expectsContinue) exchange.response.writeContinue();
      },
      note: (fields) => {
        noteForAudit(exchange.response, fields);
      },
      signal: over.signal,
    };
    route
      .serve(call)
      .then((answer) => this.#answer(exchange, answer, over.signal))
      .catch((error: unknown) => {
        this.#fail(exchange, route, error);
      });
  }

  async #answer(exchange: Exchange, answer: ServiceAnswer, signal: AbortSignal): Promise<void> {
    if ('failure' in answer) {
      exchange.fail(answer.failure);
    } else if ('result' in answer) {
      const time = exchange.elapsedSeconds();
      const { result, warnings } = answer;
      exchange.sendValue(200, { time, status: 'ok', result, ...(warnings && { warnings }) });
    } else {
      await sendFile(exchange, answer.file, signal);
    }
  }

  #fail(exchange: Exchange, route: ServiceRoute, error: unknown): void {
    if (exchange.response.headersSent) {
      // The client notices that the file is shorter than its length.
      exchange.response.destroy();
      return;
    }
    if (!(error instanceof EngineError)) {
      this.fault(exchange, error);
      return;
    }
    const { code, details } = error;
    const sentence = sentenceOf(this.services.dialect, code, details, 'collection_info');
    const failure = engineFailure(code, details, route.failed, sentence);
    if (failure.status === 500) {
      const { requestId } = exchange;
      this.services.log.error(
        { requestId, route: route.path, code, detail: details.message },
        failure.message,
      );
    }
    exchange.fail(failure);
  }
}

async function sendFile(exchange: Exchange, file: FileAnswer, signal: AbortSignal): Promise<void> {
  const { path, bytes, name } = file;
  const content = createReadStream(path, { highWaterMark: READ_BYTES, end: Math.max(bytes - 1, 0) });
  const began = exchange.begin(200, {
    'Content-Type': 'application/x-tar',
    'Content-Length': String(bytes),
    // The name of a snapshot has no character that would have to be quoted.
    'Content-Disposition': `attachment; filename="${name}"`,
  });
  if (!began) {
    content.destroy();
    return;
  }
  // A client that has gone, or does not read for too long, has its connection cut elsewhere.
  await pipeline(content, exchange.response, { signal }).catch((error: unknown) => {
    exchange.response.destroy();
    if (!signal.aborted) throw error;
  });
}
