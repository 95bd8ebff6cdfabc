/** The types of the client: those of the schemas in `openapi/openapi.yaml`, in a file that is committed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { description } from './openapi.mjs';
import { root } from './tree.mjs';

const target = join(root, 'src', 'client', 'generated.ts');

const HEADER = `/** Made of openapi/openapi.yaml by \`npm run client-types\`; \`npm test\` fails when it is out of date. */
/* eslint-disable */
`;

/** Writes the file. */
export async function writeClientTypes() {
  writeFileSync(target, await clientTypes());
}

/** Whether the committed file is what the description gives now. */
export async function clientTypesAreCurrent() {
  return readFileSync(target, 'utf8') === (await clientTypes());
}

async function clientTypes() {
  const { default: openapiTS, astToString } = await import('openapi-typescript');
  const { default: typescript } = await import('typescript');
  const { format, resolveConfig } = await import('prettier');
  const tree = await openapiTS(typedDescription(JSON.parse(await description())), {
    defaultNonNullable: false,
    transform: (schema) => wideType(schema, typescript),
  });
  const options = await resolveConfig(target);
  return format(HEADER + astToString(tree), { ...options, filepath: target });
}

/** Types that the schema cannot say: an integer that may be a BigInt, a vector that may be a `Float32Array`. */
function wideType(schema, { factory, SyntaxKind }) {
  const number = factory.createKeywordTypeNode(SyntaxKind.NumberKeyword);
  if (schema.type === 'integer' && schema.maximum > Number.MAX_SAFE_INTEGER) {
    return factory.createUnionTypeNode([number, factory.createKeywordTypeNode(SyntaxKind.BigIntKeyword)]);
  }
  if (schema.type === 'array' && schema.items?.$ref === FLOAT && !schema[ANSWERED]) {
    return factory.createUnionTypeNode([
      factory.createArrayTypeNode(number),
      factory.createTypeReferenceNode('Float32Array'),
    ]);
  }
  return undefined;
}

const SCHEMAS = '#/components/schemas/';
const FLOAT = `${SCHEMAS}Float32`;
/** Marks schemas of vectors in answers, which are never typed arrays. */
const ANSWERED = 'x-answered';

/**
 * The schemas as types can say them. What is only about which of the fields are given is left out: it would become a
 * union with `unknown`. Vectors in answers have schemas of their own. Paths are not needed.
 */
function typedDescription(document) {
  const { schemas } = document.components;
  const answered = {};
  for (const name of ['DenseVector', 'MultiVector', 'SparseVector']) {
    answered[`${name}Answered`] = JSON.parse(
      JSON.stringify(schemas[name]).replaceAll(`"${SCHEMAS}DenseVector"`, `"${SCHEMAS}DenseVectorAnswered"`),
    );
    schemas.VectorsAnswered = JSON.parse(
      JSON.stringify(schemas.VectorsAnswered).replaceAll(
        `"${SCHEMAS}${name}"`,
        `"${SCHEMAS}${name}Answered"`,
      ),
    );
  }
  answered.DenseVectorAnswered[ANSWERED] = true;
  answered.SparseVectorAnswered.properties.values[ANSWERED] = true;
  return withoutPresence({
    openapi: document.openapi,
    info: document.info,
    paths: {},
    components: { schemas: { ...schemas, ...answered } },
  });
}

/** Without alternatives that say nothing but which fields are required. */
function withoutPresence(value) {
  if (Array.isArray(value)) return value.map(withoutPresence);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, field]) => !((name === 'anyOf' || name === 'allOf') && isPresence(field)))
      .map(([name, field]) => [name, withoutPresence(field)]),
  );
}

function isPresence(alternatives) {
  return (
    Array.isArray(alternatives) &&
    alternatives.every((schema) =>
      Object.entries(schema).every(
        ([name, value]) => name === 'required' || (name === 'anyOf' && isPresence(value)),
      ),
    )
  );
}
