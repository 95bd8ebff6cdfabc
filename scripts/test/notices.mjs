/** Each THIRD-PARTY-NOTICES against the lock files. */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BuildError } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { notices } from '../package/notices.mjs';

/** @throws {BuildError} when a dependency is not named, or no longer there */
export async function requireNotices() {
  for (const { path, text } of await notices()) {
    const kept = existsSync(path) ? readFileSync(path, 'utf8') : '';
    if (kept !== text)
      throw new BuildError(
        `${relative(root, path)} is not what the lock files say: run \`npm run notices\` and commit it.`,
      );
  }
}
