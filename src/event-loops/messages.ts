import type { MessagePort } from 'node:worker_threads';
import type { Credential } from '../auth/access-token';
import type { KnownCredential } from '../auth/service';
import type { Config } from '../config';
import type { TlsMaterial } from '../http/certificate';
import type { ParameterKind, ParameterResult } from '../http/parameters';
import type { LoopCounts } from './counts';
import type { TunnelledConnection } from './tunnel';

/** What an event loop can ask of the one that has all the services, and notify it of. */
export interface MainLoop {
  readonly asks: {
    readonly identify: { readonly takes: Credential; readonly answers: KnownCredential | null };
    /** Validates a query string: the library takes more memory than all the rest of an event loop. */
    readonly validateQuery: {
      readonly takes: { readonly kind: ParameterKind; readonly queryString: string };
      readonly answers: ParameterResult;
    };
    /** Cuts a connection without a request of another event loop; false where there is none. */
    readonly cutOne: { readonly takes: undefined; readonly answers: boolean };
  };
  readonly notices: {
    /** It accepts connections. */
    readonly listening: {
      /** The number of its thread in the system, where that has one. */
      readonly thread: string | undefined;
      readonly isTraced: boolean;
    };
    /** A request that the main loop answers, and the connection that it came on. */
    readonly relay: { readonly port: MessagePort; readonly from: TunnelledConnection };
    /** Whole lines of its log. */
    readonly lines: string;
    /** An error that nothing has caught. */
    readonly fault: unknown;
  };
}

/** What the event loop that has all the services asks of another one, and notifies it of. */
export interface FurtherLoop {
  readonly asks: {
    /** Joins the engine, which is open. */
    readonly join: { readonly takes: number; readonly answers: undefined };
    readonly counts: { readonly takes: undefined; readonly answers: LoopCounts };
    /** Cuts a connection of its own without a request; false where there is none. */
    readonly cutOne: { readonly takes: undefined; readonly answers: boolean };
    readonly useCertificate: { readonly takes: TlsMaterial; readonly answers: undefined };
    /** Stops accepting and lets requests finish; whether they did in their time. */
    readonly drain: {
      readonly takes: { readonly graceMs: number; readonly answerMs: number };
      readonly answers: boolean;
    };
  };
  readonly notices: {
    readonly authenticationIsOpen: undefined;
    /** The server stops: new requests get a 503. */
    readonly stop: undefined;
  };
}

/** The settings that an event loop needs: it gets no secrets but the key of the certificate. */
export type LoopConfig = Pick<
  Config,
  | 'host'
  | 'dataDir'
  | 'corsOrigins'
  | 'trustedProxies'
  | 'dialect'
  | 'logLevel'
  | 'slowRequestMs'
  | 'maxBodyBytes'
  | 'maxConnections'
  | 'memoryLimit'
> & { readonly tls: TlsMaterial | undefined };

/** What an event loop begins with. */
export interface LoopData {
  /** From 1 on. */
  readonly loop: number;
  readonly loops: number;
  readonly memory: { readonly buffer: SharedArrayBuffer; readonly seed: number };
  /** Of the sockets that listen; the event loop closes them. */
  readonly descriptors: readonly number[];
  readonly config: LoopConfig;
  /** Whether the main loop answers every request. */
  readonly relaysAll: boolean;
  /** Whether the main loop traces requests. */
  readonly isTraced: boolean;
  /** Path of a module whose `joinEngine` gives the engine in place of the native one. */
  readonly engineModule: string | undefined;
}
