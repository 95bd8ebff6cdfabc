/** `npm run notices`: writes THIRD-PARTY-NOTICES anew. `npm test` compares it with the lock files. */
import { writeFileSync } from 'node:fs';
import { installPackages } from './build/packages.mjs';
import { BuildError, say } from './build/process.mjs';
import { NOTICES, notices } from './package/notices.mjs';

try {
  await installPackages();
  writeFileSync(NOTICES, await notices());
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
