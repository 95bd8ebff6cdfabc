/**
 * The description of the HTTP interface against a linter's rules, its examples against their schemas, the names and
 * sentences that generated clients and their users need, and the types that are generated from it.
 */
import { join } from 'node:path';
import { clientTypesAreCurrent } from '../build/client-types.mjs';
import { description } from '../build/openapi.mjs';
import { BuildError } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

/** Every rule that the linter recommends counts as an error, but for these. */
const OFF = {
  // The endpoints that this build does not have answer 501 and nothing else.
  'operation-2xx-response': 'off',
};

/** The style of Qdrant's operation ids, most of which are ours too. */
const OPERATION_ID = /^[a-z]+(_[a-z]+)*$/;

/** @throws {BuildError} that lists each problem with its place */
export async function lintDescription() {
  const { createConfig, lint } = await import('@redocly/openapi-core');
  const config = await createConfig({ extends: ['recommended'], rules: OFF });
  const found = await lint({ ref: join(root, 'openapi', 'openapi.yaml'), config });
  const problems = [
    ...found.map(({ ruleId, message, location }) => `${location[0]?.pointer ?? ''} ${message} (${ruleId})`),
    ...missingWords(JSON.parse(await description())),
  ];
  if (problems.length > 0) throw new BuildError(`openapi/openapi.yaml:\n${problems.join('\n')}`);
  if (await clientTypesAreCurrent()) return;
  throw new BuildError(
    'src/client/generated.ts is not what openapi/openapi.yaml gives: run `npm run client-types` and commit the file.',
  );
}

/**
 * Operations without an id in the style of the others, a summary or a description; parameters, schemas and properties
 * without a description.
 *
 * @param {object} document the description
 * @returns {string[]} one line for each, with its place
 */
export function missingWords(document) {
  const problems = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'parameters') continue;
      const place = `#/paths/${path}/${method}`;
      if (!OPERATION_ID.test(operation.operationId ?? '')) problems.push(`${place} has no snake_case id`);
      if (!operation.summary) problems.push(`${place} has no summary`);
      if (!operation.description) problems.push(`${place} has no description`);
    }
  }
  for (const part of ['parameters', 'schemas']) {
    for (const [name, schema] of Object.entries(document.components[part])) {
      if (!schema.description) problems.push(`#/components/${part}/${name} has no description`);
    }
  }
  return [...problems, ...undescribedProperties(document, document, '#')];
}

/** Examples hold values, in which `properties` is no keyword. */
const VALUES = new Set(['example', 'examples', 'default', 'const', 'enum']);

function* undescribedProperties(document, part, place) {
  if (typeof part !== 'object' || part === null) return;
  const schemas = Object.hasOwn(part, 'properties') && !place.endsWith('/properties') ? part.properties : {};
  for (const [name, schema] of Object.entries(schemas)) {
    if (!isDescribed(document, schema)) yield `${place}/properties/${name} has no description`;
  }
  for (const [key, value] of Object.entries(part)) {
    if (VALUES.has(key) && !place.endsWith('/properties')) continue;
    yield* undescribedProperties(document, value, `${place}/${key}`);
  }
}

/** By itself, by the schema that it refers to, or, beside null, by the only alternative. */
function isDescribed(document, schema) {
  if (schema.description) return true;
  if (schema.$ref) {
    const steps = schema.$ref.slice(2).split('/');
    return isDescribed(
      document,
      steps.reduce((at, step) => at[step], document),
    );
  }
  const alternatives = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return alternatives.length === 1 && isDescribed(document, alternatives[0]);
}
