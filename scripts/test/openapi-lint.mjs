/** The description of the HTTP interface against a linter's rules; its examples against their schemas. */
import { join } from 'node:path';
import { BuildError } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

/** Every rule that the linter recommends counts as an error, but for these. */
const OFF = {
  // The endpoints that this build does not have answer 501 and nothing else.
  'operation-2xx-response': 'off',
};

/** @throws {BuildError} that lists each problem with its place */
export async function lintDescription() {
  const { createConfig, lint } = await import('@redocly/openapi-core');
  const config = await createConfig({ extends: ['recommended'], rules: OFF });
  const problems = await lint({ ref: join(root, 'openapi', 'openapi.yaml'), config });
  if (problems.length === 0) return;
  const lines = problems.map(
    ({ ruleId, message, location }) => `${location[0]?.pointer ?? ''} ${message} (${ruleId})`,
  );
  throw new BuildError(`openapi/openapi.yaml:\n${lines.join('\n')}`);
}
