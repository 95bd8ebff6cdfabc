/** `npm run notices`: writes each THIRD-PARTY-NOTICES anew. `npm test` compares them with the lock files. */
import { writeFileSync } from 'node:fs';
import { installPackages } from './build/packages.mjs';
import { BuildError, say } from './build/process.mjs';
import { notices } from './package/notices.mjs';

try {
  await installPackages();
  for (const { path, text } of await notices()) writeFileSync(path, text);
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
