import { generateToken } from '../auth/access-token';
import { isLoopbackHost } from '../auth/loopback';
import type { NewAccessToken, RemoteClient } from '../client/remote-client';
import type { Config, VerbFlag } from '../config';
import type { TokenOrder, TokenOutcome } from '../operations/token-requests';
import { CommandError, EXIT, type Console, type ExitCode } from './console';
import { optionalFlag, requiredFlag, say } from './flags';
import { readPassword } from './password-input';
import { limitsOf, shownLimits } from './token-limits';
import { explained, serverUrl } from './service';
import { explainedInUse } from './store-in-use';
import { tableOf } from './table';
import type { GivenFlags } from './verbs';

/** The settings of every command that works on access tokens. */
export const TOKEN_SETTINGS = ['config', 'dataDir', 'tokenStore', 'token', 'adminPassword'] as const;

const TOKEN_URL_FLAG: VerbFlag = {
  name: 'url',
  placeholder: 'URL',
  about:
    'The server to ask, such as http://127.0.0.1:6363. The credential is KITHDB_TOKEN[_FILE] (an access token with the permission admin, or the JWT of the admin), else the admin password: KITHDB_ADMIN_PASSWORD[_FILE], or what is typed on a terminal. Without --url the data directory is opened, beside a server that serves it too; whoever may open it needs no credential.',
};
const JSON_FLAG: VerbFlag = { name: 'json', about: 'Prints the outcome as JSON.' };
const ID_FLAG: VerbFlag = {
  name: 'id',
  placeholder: 'ID',
  about: 'Its number, as kithdb token list shows it; it may also stand behind the verb.',
};

/** The flags of `kithdb token list`. */
export const LIST_FLAGS: readonly VerbFlag[] = [TOKEN_URL_FLAG, JSON_FLAG];
/** The flags of `kithdb token rotate` and `kithdb token delete`. */
export const ONE_TOKEN_FLAGS: readonly VerbFlag[] = [TOKEN_URL_FLAG, ID_FLAG, JSON_FLAG];
/** The flags of `kithdb token create`. */
export const CREATE_FLAGS: readonly VerbFlag[] = [
  TOKEN_URL_FLAG,
  { name: 'name', placeholder: 'NAME', about: 'What it is called in lists.' },
  {
    name: 'permission',
    placeholder: 'LIST',
    about: 'What it may do: read, write and admin, separated by commas; read,write otherwise.',
  },
  {
    name: 'expires',
    placeholder: 'TIME',
    about: 'For how long it is valid, such as 12h or 90d (s, m, h, d); without it, for ever.',
  },
  { name: 'description', placeholder: 'TEXT', about: 'What it is for.' },
  {
    name: 'collections',
    placeholder: 'LIST',
    about:
      'The collections that it may reach, separated by commas, all otherwise: names, or beginnings of names with a * behind them; what it may do there stands behind a colon: docs:read, tenant-7-*:read+write; without that, both.',
  },
  {
    name: 'filter',
    placeholder: 'JSON',
    about: 'The points that it may reach: a filter such as {"must":{"key":"tenant","match":{"value":7}}}.',
  },
  JSON_FLAG,
];

/** `kithdb token generate`: a new value for `KITHDB_ACCESS_TOKEN`, which no server knows yet. */
export function printNewToken({ stdout }: Console): void {
  stdout.write(`${generateToken()}\n`);
}

/** `kithdb token list`: the access tokens, without their values. */
export async function listTokens(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const { tokens } = await carryOut({ kind: 'list tokens' }, config, console, flags);
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(tokens)}\n`);
  } else if (tokens.length === 0) {
    console.stdout.write('There are no access tokens.\n');
  } else {
    const limits = tokens.map(shownLimits);
    const isLimited = limits.some((text) => text !== '');
    const head = [
      ...['ID', 'NAME', 'PERMISSION', 'CREATED', 'EXPIRES'],
      ...(isLimited ? ['LIMITS'] : []),
      'DESCRIPTION',
    ];
    const rows = tokens.map((token, at) => [
      String(token.id),
      token.name,
      token.permission,
      token.created_at,
      token.expired_at ?? 'never',
      ...(isLimited ? [limits[at] ?? ''] : []),
      token.description ?? '',
    ]);
    const width = console.stdout.isTTY === true ? console.stdout.columns : undefined;
    console.stdout.write(tableOf([head, ...rows], width));
  }
  return EXIT.success;
}

/** `kithdb token create`: makes an access token, whose value is shown this once. */
export async function createToken(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const order = {
    kind: 'create token',
    name: requiredFlag(flags, 'name', 'NAME'),
    permission: optionalFlag(flags, 'permission') ?? 'read,write',
    description: descriptionOf(flags),
    lifetimeSeconds: lifetimeOf(optionalFlag(flags, 'expires')),
    ...limitsOf(flags),
  } as const;
  return showIssued(await carryOut(order, config, console, flags), console, flags);
}

/** `kithdb token rotate`: gives an access token another value, which is shown this once. */
export async function rotateToken(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const order = { kind: 'rotate token', id: idOf(flags) } as const;
  return showIssued(await carryOut(order, config, console, flags), console, flags);
}

/** `kithdb token delete`: from then on the access token is refused. */
export async function deleteToken(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const id = idOf(flags);
  await carryOut({ kind: 'delete token', id }, config, console, flags);
  say(console, flags, `The access token ${id} is deleted.`, { id, deleted: true });
  return EXIT.success;
}

/** The value alone goes to standard output, so that a script can take it. */
function showIssued(
  { tokens, enabled }: TokenOutcome,
  { stdout, stderr }: Console,
  flags: GivenFlags,
): ExitCode {
  const [issued] = tokens;
  if (issued?.token === undefined) {
    throw new CommandError('The answer has no access token');
  }
  const { id, permission, expired_at: expired, token } = issued;
  if (flags.has('json')) {
    stdout.write(`${JSON.stringify(issued)}\n`);
  } else {
    const until = expired === null ? '' : `, until ${expired}`;
    stderr.write(`Access token ${id} (${permission}${until}). Its value is shown only this once:\n`);
    stdout.write(`${token}\n`);
  }
  if (!enabled) {
    stderr.write(
      'kithdb: authentication is disabled: everybody is served without a token until PATCH /auth/enabled enables it\n',
    );
  }
  return EXIT.success;
}

function idOf(flags: GivenFlags): number {
  const text = requiredFlag(flags, 'id', 'ID');
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) {
    throw new CommandError(`--id must be the number of an access token, not ${text}`, EXIT.usage);
  }
  return id;
}

/** Longer ones are for the interface over HTTP: a request on the control socket has a limit. */
const MAX_DESCRIPTION_CHARACTERS = 1024;

function descriptionOf(flags: GivenFlags): string | null {
  const description = optionalFlag(flags, 'description') ?? null;
  if (description !== null && description.length > MAX_DESCRIPTION_CHARACTERS) {
    throw new CommandError(`--description has at most ${MAX_DESCRIPTION_CHARACTERS} characters`, EXIT.usage);
  }
  return description;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function lifetimeOf(text: string | undefined): number | null {
  if (text === undefined) {
    return null;
  }
  const [, number, unit = 's'] = /^([1-9]\d{0,8})([smhd])?$/.exec(text) ?? [];
  if (number === undefined) {
    throw new CommandError(`--expires must be a time such as 12h or 90d, not ${text}`, EXIT.usage);
  }
  return Number(number) * (UNIT_SECONDS[unit] ?? 1);
}

function carryOut(
  order: TokenOrder,
  config: Config,
  console: Console,
  flags: GivenFlags,
): Promise<TokenOutcome> {
  const url = serverUrl(flags);
  return url === undefined ? inFolder(order, config) : overHttp(order, config, console, url);
}

/** Where a server serves the directory it does the work; else the store is opened here. */
async function inFolder(order: TokenOrder, { dataDir, tokenStore }: Config): Promise<TokenOutcome> {
  const { whyUnusable } = await import('../operations/data-dir.js');
  const unusable = await whyUnusable(dataDir);
  if (unusable !== undefined) {
    throw new CommandError(unusable);
  }
  const { tokensLive } = await import('../operations/control-client.js');
  const live = await tokensLive(dataDir, order);
  const outcome = live ?? (await offline(order, dataDir, tokenStore));
  if (typeof outcome === 'string') {
    throw new CommandError(outcome);
  }
  return outcome;
}

async function offline(
  order: TokenOrder,
  dataDir: string,
  tokenStore: Config['tokenStore'],
): Promise<TokenOutcome | string> {
  if (tokenStore === 'memory') {
    throw new CommandError('KITHDB_TOKEN_STORE=memory keeps no access tokens between starts');
  }
  const { withTokensOffline } = await import('../auth/offline-tokens.js');
  const { carryOut: work } = await import('../operations/token-requests.js');
  const outcome = await withTokensOffline(dataDir, tokenStore, (tokens) => work(order, tokens)).catch(
    explainedInUse,
  );
  if (outcome === undefined) {
    throw new CommandError(`No server has run on ${dataDir} yet: is --data-dir right?`);
  }
  return outcome;
}

async function overHttp(
  order: TokenOrder,
  config: Config,
  console: Console,
  url: string,
): Promise<TokenOutcome> {
  const { connect } = await import('../client/remote-client.js');
  try {
    const token = config.token ?? (await loggedIn(connect(url), config, console, url));
    const client = connect(url, { token });
    try {
      // Where authentication is disabled the server answers only an admin (C3.9), who knows it.
      return { tokens: await ask(client, order), enabled: true };
    } finally {
      await client.close();
    }
  } catch (error) {
    throw explained(error);
  }
}

async function ask(client: RemoteClient, order: TokenOrder): Promise<TokenOutcome['tokens']> {
  switch (order.kind) {
    case 'list tokens':
      return await client.listAccessTokens();
    case 'create token': {
      const { name, permission, description, lifetimeSeconds, collections, filter } = order;
      const expiry =
        lifetimeSeconds === null ? {} : { will_expire: true, expires_in_seconds: lifetimeSeconds };
      return [
        await client.createAccessToken({
          name,
          permission,
          description,
          ...expiry,
          ...limitFields(collections, filter),
        }),
      ] as TokenOutcome['tokens'];
    }
    case 'rotate token':
      return [await client.rotateAccessToken(order.id)] as TokenOutcome['tokens'];
    case 'delete token':
      await client.deleteAccessToken(order.id);
      return [];
  }
}

/** The limits of an order that this command made, as the client sends them. */
function limitFields(collections: unknown, filter: unknown): Pick<NewAccessToken, 'collections' | 'filter'> {
  return {
    ...(collections !== undefined && { collections }),
    ...(filter !== undefined && { filter }),
  } as Pick<NewAccessToken, 'collections' | 'filter'>;
}

/** The admin's JWT for the password that is given or typed. */
async function loggedIn(
  client: RemoteClient,
  config: Config,
  console: Console,
  url: string,
): Promise<string> {
  if (config.adminPasswordProblem !== undefined) {
    throw new CommandError(config.adminPasswordProblem, EXIT.usage);
  }
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !isLoopbackHost(hostname.replace(/^\[(.*)\]$/, '$1'))) {
    throw new CommandError(
      `The admin password is not sent to ${hostname} over http, where others could read it: use https, or KITHDB_TOKEN with an access token`,
      EXIT.usage,
    );
  }
  const password =
    config.adminPassword ?? (console.stdin.isTTY === true ? await readPassword(console) : undefined);
  if (password === undefined) {
    throw new CommandError(
      '--url needs a credential: KITHDB_TOKEN[_FILE], or KITHDB_ADMIN_PASSWORD[_FILE]',
      EXIT.usage,
    );
  }
  try {
    return (await client.login(password)).token;
  } finally {
    await client.close();
  }
}
