import { checkExposure, ExposureError, isPrivateAddress } from '../auth/exposure';
import { refusePassword } from '../auth/password-policy';
import { storeExists } from '../auth/store/open';
import type { Config } from '../config';
import type { Finding } from './finding';

/** The settings that a first start begins authentication with, and whether a start is one. */
export type AuthenticationSettings = Pick<
  Config,
  | 'host'
  | 'dataDir'
  | 'tokenStore'
  | 'cluster'
  | 'clusterAlone'
  | 'authEnabled'
  | 'accessToken'
  | 'adminPassword'
  | 'adminPasswordProblem'
  | 'generateAdminPassword'
  | 'insecureNoAuth'
>;

const check = 'authentication';

/** Whether a server may start with what the settings say of authentication (C3.8); nothing where they do not decide it. */
export async function checkAuthentication(config: AuthenticationSettings): Promise<readonly Finding[]> {
  // The nodes of a cluster have its state in common.
  if (config.cluster !== undefined || config.clusterAlone) return [];
  const isFirst = await startsFirst(config);
  return isFirst ? [judgeFirstStart(config)] : judgeStored(config);
}

/** Whether authentication has no store yet. */
async function startsFirst({ dataDir, tokenStore }: AuthenticationSettings): Promise<boolean> {
  if (tokenStore === 'memory') return true;
  // A folder that cannot be looked into is a finding of its own.
  return !(await storeExists(dataDir).catch(() => true));
}

function judgeFirstStart(config: AuthenticationSettings): Finding {
  const refused = whyNoCredential(config);
  if (refused !== undefined) return { check, state: 'problem', ...refused };
  const enabled = config.accessToken !== undefined || config.authEnabled === true;
  try {
    const [warning] = checkExposure(config, { enabled, decided: false });
    if (warning !== undefined) return { check, state: 'advice', what: warning };
  } catch (error) {
    if (!(error instanceof ExposureError)) throw error;
    const [what = '', ...advice] = error.message.split('\n');
    return { check, state: 'problem', what: what.replace(/\.$/, ''), advice: advice.join(' ') };
  }
  return {
    check,
    state: 'ok',
    what: enabled
      ? 'a first start enables it'
      : `a first start leaves it disabled, and only this machine reaches ${config.host}`,
  };
}

/** What is wrong with the first credential; undefined where it is right, or none is asked for. */
function whyNoCredential(config: AuthenticationSettings): Pick<Finding, 'what' | 'advice'> | undefined {
  const { accessToken, adminPassword, adminPasswordProblem, generateAdminPassword, authEnabled } = config;
  if (adminPasswordProblem !== undefined) return { what: adminPasswordProblem };
  if (adminPassword !== undefined) {
    const refused = refusePassword(adminPassword);
    return refused === undefined
      ? undefined
      : { what: 'KITHDB_ADMIN_PASSWORD is refused', advice: refused.replace(/\.$/, '') };
  }
  return authEnabled === true && accessToken === undefined && !generateAdminPassword
    ? {
        what: 'KITHDB_AUTH_ENABLED=true needs a first credential, and the settings have none',
        advice: 'give KITHDB_ACCESS_TOKEN or KITHDB_ADMIN_PASSWORD, or a file with one of them',
      }
    : undefined;
}

/** A store says itself whether authentication is enabled, and it is not opened: a server may have it open. */
function judgeStored(config: AuthenticationSettings): readonly Finding[] {
  if (isPrivateAddress(config) || config.insecureNoAuth || config.authEnabled === true) return [];
  if (config.accessToken !== undefined) return [];
  return [
    {
      check,
      state: 'unknown',
      what: `other machines can reach ${config.host}, and only the store in ${config.dataDir} has whether authentication is enabled: where nobody has decided that, a server does not start`,
    },
  ];
}
