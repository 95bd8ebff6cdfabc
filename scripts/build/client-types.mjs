/**
 * The TypeScript types of the HTTP interface, `src/client/generated.ts`: a file that is committed, made of
 * `openapi/openapi.yaml` by `npm run client-types`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { description } from './openapi.mjs';
import { root } from './tree.mjs';

const target = join(root, 'src', 'client', 'generated.ts');

const HEADER = `/** Made of openapi/openapi.yaml by \`npm run client-types\`; \`npm test\` fails when it is out of date. */
`;

/** Writes the file. */
export async function writeClientTypes() {
  writeFileSync(target, await clientTypes());
}

/** Whether the committed file is what the description gives now. */
export async function clientTypesAreCurrent() {
  return existsSync(target) && readFileSync(target, 'utf8') === (await clientTypes());
}

/** Integers that may be beyond 2^53 are `number | bigint`. A field that has a default may be left out. */
async function clientTypes() {
  const [{ default: openapiTS, astToString }, { default: ts }, { format, resolveConfig }] = await Promise.all(
    [import('openapi-typescript'), import('typescript'), import('prettier')],
  );
  const { factory, SyntaxKind } = ts;
  const integer = factory.createUnionTypeNode([
    factory.createKeywordTypeNode(SyntaxKind.NumberKeyword),
    factory.createKeywordTypeNode(SyntaxKind.BigIntKeyword),
  ]);
  const tree = await openapiTS(withoutChoices(JSON.parse(await description())), {
    defaultNonNullable: false,
    silent: true,
    transform: ({ type, maximum }) =>
      type === 'integer' && maximum > Number.MAX_SAFE_INTEGER ? integer : undefined,
  });
  return format(HEADER + astToString(tree), { ...(await resolveConfig(target)), filepath: target });
}

/**
 * A copy without the alternatives that only say which fields are needed, of which the generator makes `unknown`. The
 * server checks them.
 */
function withoutChoices(part) {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map(withoutChoices);
  const saysOnlyRequired = (schema) =>
    Object.keys(schema).every((key) => key === 'required') ||
    (Array.isArray(schema.anyOf) && schema.anyOf.every(saysOnlyRequired));
  const kept = Object.entries(part).filter(
    ([key, value]) =>
      !(['anyOf', 'allOf'].includes(key) && Array.isArray(value) && value.every(saysOnlyRequired)),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutChoices(value)]));
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await writeClientTypes();
}
