import type { StoreRepair } from '../auth/store/repair';
import type { Config } from '../config';
import { reasonOf } from '../files/explained';
import { CommandError, counted, type Console } from './console';
import type { GivenFlags } from './verbs';

/** Ids of access tokens that are printed. */
const PRINTED_IDS = 20;

/** `kithdb admin repair`: makes a damaged store of authentication sound again, and leaves authentication enabled (C3.8). */
export async function adminRepair(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const { dataDir, tokenStore } = config;
  if (tokenStore === 'memory') {
    throw new CommandError('KITHDB_TOKEN_STORE=memory keeps nothing between starts');
  }
  const { repairAuth } = await import('../operations/repair-auth.js');
  let report: StoreRepair;
  try {
    report = await repairAuth(dataDir, tokenStore, flags.has('older-store'));
  } catch (error) {
    throw new CommandError(`Cannot repair the store of authentication of ${dataDir}: ${reasonOf(error)}`);
  }
  console.stdout.write(flags.has('json') ? `${JSON.stringify(report, undefined, 2)}\n` : textOf(report));
}

function textOf(repair: StoreRepair): string {
  const { sound, problems, keptAdmin, keptTokens, droppedTokens, salvage, cluster } = repair;
  if (sound) {
    return 'Nothing to repair.\n';
  }
  if (cluster === 'takes') {
    return [
      ...problems.map(({ what }) => `damaged: ${what}`),
      'The node takes the admin, the access tokens and the settings from its cluster when it starts.',
      `What was replaced is in ${salvage ?? ''}`,
      '',
    ].join('\n');
  }
  const dropped = droppedTokens.slice(0, PRINTED_IDS).join(', ');
  const more = droppedTokens.length > PRINTED_IDS ? ', and more' : '';
  return [
    ...problems.map(({ what }) => `damaged: ${what}`),
    `kept: ${keptAdmin ? 'the admin' : 'no admin'}, ${counted(keptTokens, 'access token')}`,
    ...(dropped === '' ? [] : [`dropped: access tokens with the ids ${dropped}${more}`]),
    ...(cluster === 'gives'
      ? ['When it starts, the node gives its cluster what it has, if the log of that is new.']
      : []),
    'Authentication is enabled.',
    keptAdmin
      ? 'Every login from before is invalid.'
      : 'There is no admin: start the server with KITHDB_ADMIN_PASSWORD, or call POST /auth/admin from this machine.',
    `What was replaced is in ${salvage ?? ''}`,
    '',
  ].join('\n');
}
