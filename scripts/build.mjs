/**
 * `npm run build`: brings the packages, the engine's addon, its TypeScript types and `dist/` up to date.
 * Does nothing, and says nothing, when they are.
 */
import { buildEverything } from './build/everything.mjs';
import { BuildError, say } from './build/process.mjs';

try {
  await buildEverything();
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
