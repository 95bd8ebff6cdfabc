import { rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AccessTokens } from '../auth/offline-tokens';
import type { PasswordReset } from '../auth/service';
import { auditedToken } from '../auth/tokens';
import { diskFull, explained, isDiskFull } from '../files/explained';
import { textsOf, type AuditFields, type AuditOutcome } from '../http/audit-fields';
import { listenPrivately } from './control-address';
import {
  CONTROL_FILE,
  identityOf,
  MAX_LINE_BYTES,
  readRequest,
  type ControlRequest,
  type TokensAnswer,
} from './control-protocol';
import { carryOut } from './token-requests';
import { answer, StageLease, type Staging } from './stage-lease';

/** What a running server does for commands on its own machine. */
export interface ControlServices {
  readonly staging: Staging;
  /** `ready` when data endpoints are served. */
  readonly readiness: () => string;
  /** Creates the admin with a password that has passed the policy; false when there is one. */
  readonly createAdmin: (password: string) => Promise<boolean>;
  /** Gives the admin another password, which has passed the policy. */
  readonly resetPassword: (password: string) => Promise<PasswordReset>;
  /** Replaces the JWT secret; false where it comes from a setting. */
  readonly rotateSecret: () => Promise<boolean>;
  readonly tokens: AccessTokens;
  /** Notes that a whole backup was made. */
  readonly noteBackup: () => Promise<void>;
  /** Takes a line about each request that changes something or copies the data; none are written when absent. */
  readonly audit?: ((line: object) => void) | undefined;
}

/** How long a stop waits for what is under way, so that the audit stream has it. */
const RECORDED_MS = 1000;

/** The socket on which a running server takes requests of commands on its own machine. */
export interface Control {
  close(): Promise<void>;
}

/** Longest time between a connection and its request. */
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 8;
/** How long a backup may send nothing before it loses the files that were staged for it. */
const SILENCE_MS = 60_000;

const SECRET_OF_SETTING =
  'its JWT secret comes from a setting, KITHDB_JWT_SECRET[_FILE], SERVICE_JWT_SECRET[_FILE] or jwt_secret in the file of --config: replace it there, and start the server again';
const NO_ADMIN = 'there is no admin yet: kithdb admin create makes it';
const AN_ADMIN = 'there is an admin already: kithdb admin reset-password gives it another password';

/** What the socket works with. */
interface Work {
  readonly dataDir: string;
  readonly services: ControlServices;
  readonly lease: StageLease;
  readonly log: Logger;
}

/**
 * Listens on a socket in the data directory, so that exactly the users who may read the data may back them up, create the
 * admin, replace its password and the JWT secret, and manage access tokens. The caller holds the lock of the directory, so
 * a socket that is left there belongs to no running process.
 */
export async function openControl(
  dataDir: string,
  services: ControlServices,
  log: Logger,
  silenceMs = SILENCE_MS,
): Promise<Control> {
  const work = { dataDir, services, log, lease: new StageLease(dataDir, services.staging, log, silenceMs) };
  const server = createServer({ allowHalfOpen: true });
  const sockets = new Set<Socket>();
  const served = new Set<Promise<void>>();
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const serving = serve(socket, work).finally(() => served.delete(serving));
    served.add(serving);
  });
  const address = await listenPrivately(server, dataDir);
  const file = join(dataDir, CONTROL_FILE);
  await writeFile(file, `${JSON.stringify({ socket: address.name })}\n`, { mode: 0o600 });
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) =>
        server.close(() => {
          resolve();
        }),
      );
      sockets.forEach((socket) => socket.destroy());
      await closed;
      // What is under way is on record when the audit stream ends, unless it hangs.
      await Promise.race([Promise.allSettled(served), sleep(RECORDED_MS, undefined, { ref: false })]);
      await rm(file, { force: true });
      await address.remove();
    },
  };
}

/** Answers the request of a connection, and writes what became of it to the audit stream. */
async function serve(socket: Socket, work: Work): Promise<void> {
  const late = setTimeout(() => socket.destroy(), REQUEST_MS);
  const request = await requestOf(socket);
  clearTimeout(late);
  if (request === undefined) {
    answer(socket, { error: 'unknown request' });
    socket.end();
  } else if (request.kind === 'health') {
    answer(socket, { health: work.services.readiness() });
    socket.end();
  } else if (request.kind === 'backup') {
    audit(work, request, { outcome: await work.lease.grant(socket) });
  } else {
    const ended = await change(socket, request, work);
    if (request.kind !== 'list tokens') audit(work, request, ended);
  }
}

/** What became of a request. */
interface Ended {
  readonly outcome: AuditOutcome;
  /** What it named or made. */
  readonly fields?: AuditFields;
}

/** The line of a request. Only the owner of the data directory and root may open the socket. */
function audit({ services }: Work, { kind }: ControlRequest, { outcome, fields }: Ended): void {
  const time = new Date().toISOString();
  services.audit?.({ time, who: 'operator', address: 'control socket', action: kind, ...fields, outcome });
}

/** A request that is for one data directory. */
type Order = Extract<ControlRequest, { readonly folder: string }>;

/** Does what was ordered. Gives why it cannot be done, nothing where there is no more to say, or the answer. */
async function made(request: Order, services: ControlServices): Promise<string | TokensAnswer | undefined> {
  switch (request.kind) {
    case 'create admin':
      return (await services.createAdmin(request.password)) ? undefined : AN_ADMIN;
    case 'reset password':
      return (await services.resetPassword(request.password)) === 'done' ? undefined : NO_ADMIN;
    case 'rotate secret':
      return (await services.rotateSecret()) ? undefined : SECRET_OF_SETTING;
    case 'note backup':
      await services.noteBackup();
      return undefined;
    case 'list tokens':
    case 'create token':
    case 'rotate token':
    case 'delete token':
      return carryOut(request, services.tokens);
  }
}

/** Makes a change of the directory that is served, and answers. */
async function change(socket: Socket, request: Order, { dataDir, log, services }: Work): Promise<Ended> {
  const ended = (outcome: AuditOutcome, tokens: TokensAnswer['tokens'] = []): Ended => {
    socket.end();
    return { outcome, fields: { ...named(request), ...(tokens[0] && auditedToken(tokens[0])) } };
  };
  try {
    if ((await identityOf(dataDir)) !== request.folder) {
      answer(socket, { change: 'other folder' });
      return ended('refused');
    }
    const outcome = await made(request, services);
    if (typeof outcome === 'string') {
      answer(socket, { error: outcome });
      return ended('refused');
    }
    answer(socket, outcome ?? { change: 'done' });
    return ended('done', outcome?.tokens);
  } catch (error) {
    log.error({ err: error }, 'what a command on this machine asked for could not be done');
    answer(socket, { error: isDiskFull(error) ? diskFull(dataDir) : explained(error) });
    return ended('failed');
  }
}

/** What a request names. */
function named(request: Order): AuditFields {
  switch (request.kind) {
    case 'create token':
      return textsOf(request, ['name', 'permission']);
    case 'rotate token':
    case 'delete token':
      return { id: request.id };
    case 'create admin':
    case 'reset password':
    case 'rotate secret':
    case 'note backup':
    case 'list tokens':
      return {};
  }
}

/** The request of a connection, which is one line; undefined when it is none. */
function requestOf(socket: Socket): Promise<ControlRequest | undefined> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const read = (piece: Buffer): void => {
      pieces.push(piece);
      bytes += piece.length;
      if (piece.includes(10) || bytes > MAX_LINE_BYTES) {
        socket.off('data', read);
        // Further data is ignored, but it must be read to notice the end of the connection.
        socket.resume();
        const [line = ''] = Buffer.concat(pieces).toString().split('\n', 1);
        resolve(bytes > MAX_LINE_BYTES ? undefined : readRequest(line));
      }
    };
    socket.on('data', read);
    socket.once('close', () => {
      resolve(undefined);
    });
  });
}
