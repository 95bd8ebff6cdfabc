import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config';
import { diskFull, isDiskFull } from '../files/explained';
import { AdminJwt } from './admin-jwt';
import { ClosedAuthService } from './closed';
import { settleInitialToken, ValueInUse } from './initial-token';
import { settleJwtSecret } from './jwt-secret';
import { refusePassword } from './password-policy';
import type { AuthReplication } from './replication';
import { StoredAuthService, type AuthParts, type AuthService } from './service';
import type { LocalTokenStore } from './store/change';
import { openStore } from './store/open';
import { ServedCatalog } from './store/catalog';
import {
  ChangeNotConfirmed,
  StoreDamaged,
  StoreOfCluster,
  StoreReadOnly,
  type TokenStore,
} from './store/port';

/** The settings that authentication starts from. */
export type AuthConfig = Pick<
  Config,
  | 'dataDir'
  | 'tokenStore'
  | 'jwtSecret'
  | 'jwtTtlSeconds'
  | 'authEnabled'
  | 'adminPassword'
  | 'adminPasswordProblem'
  | 'generateAdminPassword'
  | 'accessToken'
  | 'accessTokenPermission'
>;

/** The start is refused: settings contradict what is stored, or the policy refuses the password. */
export class AuthStartError extends Error {
  override readonly name = 'AuthStartError';
}

/** What authentication counts and remembers for the whole process. */
export type ProcessAuth = Pick<AuthParts, 'throttle' | 'hasher' | 'identities' | 'changed'>;

/** What the node adds to the settings, and what a test may replace. */
export interface AuthSurroundings {
  /** Keeps the store the same as those of other nodes; a server alone has none. */
  readonly replication?: AuthReplication | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Shows a generated password to the operator, once. */
  readonly showPassword?: (password: string) => void;
}

/**
 * Opens the store of the data directory and settles what a first start has to: the JWT secret (C3.2), the access token of
 * the settings (C11.2), the admin (C3.3) and whether authentication starts enabled (C3.8). With a store that does not verify, authentication is closed.
 * @throws StoreInUse when a server runs on the data directory
 * @throws AuthStartError
 */
export async function openAuth(
  config: AuthConfig,
  log: Logger,
  process: ProcessAuth,
  surroundings: AuthSurroundings = {},
): Promise<AuthService> {
  let known: StoreDamaged | undefined;
  const onFault = (fault: StoreDamaged): void => {
    if (fault === known) return;
    known = fault;
    process.changed?.();
    log.error({ reason: fault.message }, 'authentication is closed: its store is damaged');
  };
  try {
    const warn = (warning: string): void => {
      log.warn(warning);
    };
    const catalog = new ServedCatalog(config.dataDir, log);
    const isOfCluster = surroundings.replication !== undefined;
    const own = await openStore(config.dataDir, config.tokenStore, { warn, onFault, catalog, isOfCluster });
    return await openService({ own, catalog }, config, log, process, surroundings);
  } catch (error) {
    if (error instanceof StoreOfCluster) {
      throw new AuthStartError(error.message, { cause: error });
    }
    if (!(error instanceof StoreDamaged)) {
      throw error;
    }
    onFault(error);
    return new ClosedAuthService(error);
  }
}

async function openService(
  { own, catalog }: Pick<AuthParts, 'catalog'> & { readonly own: LocalTokenStore },
  config: AuthConfig,
  log: Logger,
  { throttle, hasher, identities, changed }: ProcessAuth,
  { replication, now = Date.now, showPassword = printPassword }: AuthSurroundings,
): Promise<AuthService> {
  let store: TokenStore = own;
  try {
    store = (await replication?.join(own, { log, jwtSecret: config.jwtSecret })) ?? own;
    const secret = await settleJwtSecret(config.jwtSecret, store, log);
    await settleInitialToken(config, store, now(), log);
    const auth = await StoredAuthService.over({
      store,
      catalog,
      jwt: new AdminJwt(secret, config.jwtTtlSeconds, now),
      hasher,
      throttle,
      identities,
      ...(changed !== undefined && { changed }),
      log,
      jwtTtlSeconds: config.jwtTtlSeconds,
      now,
    });
    await settleAdmin(auth, config, showPassword);
    await settleSetting(auth, config, log);
    return auth;
  } catch (error) {
    await store.close();
    if (error instanceof StoreReadOnly) {
      const what =
        'The settings of this server would change the admin, the access tokens or whether authentication is enabled';
      throw new AuthStartError(`${what}, and ${error.message}`, { cause: error });
    }
    if (error instanceof ValueInUse || error instanceof ChangeNotConfirmed) {
      throw new AuthStartError(error.message, { cause: error });
    }
    throw isDiskFull(error) ? new AuthStartError(diskFull(config.dataDir), { cause: error }) : error;
  }
}

async function settleAdmin(
  auth: AuthService,
  config: AuthConfig,
  showPassword: (password: string) => void,
): Promise<void> {
  if (auth.adminExists) {
    return;
  }
  if (config.adminPasswordProblem !== undefined) {
    throw new AuthStartError(`There is no admin yet, and ${config.adminPasswordProblem}`);
  }
  if (config.adminPassword !== undefined) {
    const refused = refusePassword(config.adminPassword);
    if (refused !== undefined) {
      throw new AuthStartError(`KITHDB_ADMIN_PASSWORD is refused. ${refused}`);
    }
    await auth.createAdmin(config.adminPassword);
  } else if (
    config.generateAdminPassword &&
    !auth.hasInitialToken &&
    (auth.enabled || (!auth.decided && config.authEnabled === true))
  ) {
    const password = generatePassword();
    if (await auth.createAdmin(password)) showPassword(password);
  }
}

async function settleSetting(auth: AuthService, config: AuthConfig, log: Logger): Promise<void> {
  if (auth.decided) {
    if (config.accessToken !== undefined && !auth.enabled) {
      log.warn(
        'KITHDB_ACCESS_TOKEN does not enable authentication: it was disabled, and only PATCH /auth/enabled changes that now',
      );
    } else if (config.authEnabled !== undefined && config.authEnabled !== auth.enabled) {
      log.warn(
        `KITHDB_AUTH_ENABLED=${String(config.authEnabled)} has no effect: authentication is ${auth.enabled ? 'enabled' : 'disabled'}, and only PATCH /auth/enabled changes it now`,
      );
    }
  } else if (config.authEnabled === true) {
    if (!auth.adminExists) {
      throw new AuthStartError(
        'KITHDB_AUTH_ENABLED=true needs an admin: give KITHDB_ADMIN_PASSWORD or KITHDB_ADMIN_PASSWORD_FILE, or KITHDB_GENERATE_ADMIN_PASSWORD=true to have a password made and printed once; or give KITHDB_ACCESS_TOKEN or KITHDB_ACCESS_TOKEN_FILE, which needs none',
      );
    }
    await auth.enableUndecided();
  }
  // A disabled state that was not asked for is not stored, so that an exposed address is still refused later (C3.8).
}

const LETTERS_AND_DIGITS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const GROUPS = 5;
const GROUP_CHARACTERS = 5;

/** A password that satisfies the policy: 25 characters in groups, without characters that look alike; 140 bits. */
export function generatePassword(): string {
  const group = (): string =>
    Array.from({ length: GROUP_CHARACTERS }, () =>
      LETTERS_AND_DIGITS.charAt(randomInt(LETTERS_AND_DIGITS.length)),
    ).join('');
  for (;;) {
    const password = Array.from({ length: GROUPS }, group).join('-');
    if (refusePassword(password) === undefined) {
      return password;
    }
  }
}

/** Prints to standard output and not to the log, so that no collected log has the password. */
function printPassword(password: string): void {
  process.stdout.write(
    `\nThe admin password of this server, shown only this once:\n\n    ${password}\n\n` +
      'To change it: kithdb admin reset-password\n\n',
  );
}
