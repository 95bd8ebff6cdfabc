/** THIRD-PARTY-NOTICES against the lock files. */
import { existsSync, readFileSync } from 'node:fs';
import { BuildError } from '../build/process.mjs';
import { NOTICES, notices } from '../package/notices.mjs';

/** @throws {BuildError} when a dependency is not named, or no longer there */
export async function requireNotices() {
  const kept = existsSync(NOTICES) ? readFileSync(NOTICES, 'utf8') : '';
  if (kept !== (await notices()))
    throw new BuildError(
      'THIRD-PARTY-NOTICES is not what the lock files say: run `npm run notices` and commit it.',
    );
}
