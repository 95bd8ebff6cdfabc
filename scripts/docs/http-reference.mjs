/**
 * The pages of the HTTP reference, made of the description that the server answers at `/openapi.json`: a page for each
 * group of endpoints, and one with all schemas.
 */
import { code, fieldRows, json, link, prose, row, table, typeOf } from './schema-text.mjs';
import { slugOf } from './slugs.mjs';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const ADDRESS = 'http://127.0.0.1:6363';
const GENERATED = '<!-- Generated from openapi/openapi.yaml by npm run docs. -->';

/**
 * @param {object} source of OpenAPI 3.1, its own references included
 * @returns {Record<string, string>} pages by the name of their file
 */
export function httpReference(source) {
  const description = withDescriptions(source, source.components.schemas);
  const groups = description.tags.map((tag) => ({ ...tag, operations: operationsOf(description, tag.name) }));
  return {
    'index.md': overview(description, groups),
    ...Object.fromEntries(groups.map((group) => [fileOf(group.name), groupPage(description, group)])),
    'schemas.md': schemasPage(description.components.schemas),
  };
}

/** Fields that only name a schema get its description. */
function withDescriptions(value, schemas) {
  if (Array.isArray(value)) return value.map((item) => withDescriptions(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, item]) => {
    const inside = withDescriptions(item, schemas);
    return [key, key === 'properties' ? namedFields(inside, schemas) : inside];
  });
  return Object.fromEntries(inner);
}

function namedFields(properties, schemas) {
  const described = Object.entries(properties).map(([name, field]) => {
    const text = field?.description ?? schemas[field?.$ref?.split('/').at(-1)]?.description;
    return [name, text === undefined ? field : { ...field, description: text }];
  });
  return Object.fromEntries(described);
}

function fileOf(group) {
  return `${slugOf(group)}.md`;
}

function operationsOf(description, group) {
  return Object.entries(description.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]?.tags.includes(group)).map((method) => ({
      path,
      method,
      ...item[method],
      parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map((parameter) =>
        resolve(description, parameter),
      ),
    })),
  );
}

function resolve(description, value) {
  if (value?.$ref === undefined) return value;
  const found = value.$ref
    .slice(2)
    .split('/')
    .reduce((inner, key) => inner?.[key], description);
  if (found === undefined) throw new Error(`The description has no ${value.$ref}.`);
  return { ...found, ...value, $ref: undefined };
}

function overview({ info }, groups) {
  return page('HTTP reference', [
    prose(info.description),
    '',
    'A running server answers this description at `/openapi.json`. What a client can rely on beyond it is in the [contract](../contract.md).',
    '',
    ...groups.flatMap(({ name, description, operations }) => [
      `## ${name}`,
      '',
      prose(description),
      '',
      ...operationTable(operations, fileOf(name)),
    ]),
  ]);
}

function operationTable(operations, file) {
  const rows = operations.map(({ method, path, summary }) =>
    row([code(`${method.toUpperCase()} ${path}`), `[${prose(summary)}](${file}#${slugOf(summary)})`]),
  );
  return table(['request', 'what it does'], rows);
}

function groupPage(description, { name, description: about, operations }) {
  return page(name, [
    prose(about),
    '',
    ...operations.flatMap((operation) => operationSection(description, operation)),
  ]);
}

function operationSection(description, operation) {
  const { method, path, summary, operationId } = operation;
  return [
    `## ${prose(summary)}`,
    '',
    `\`${method.toUpperCase()} ${path}\` (operation \`${operationId}\`)${permissionOf(operation)}`,
    '',
    prose(operation.description),
    '',
    ...table(['parameter', 'in', 'type', 'meaning'], operation.parameters.map(parameterRow)),
    ...bodySection(description, operation),
    ...exampleSection(description, operation),
    ...answerSection(description, operation),
  ];
}

function permissionOf({ security }) {
  return security !== undefined && security.length === 0 ? ', without credentials' : '';
}

function parameterRow({ name, in: place, schema, description, required }) {
  return row([
    code(name),
    place,
    typeOf(schema),
    [required && '**required**', description].filter(Boolean).join('. '),
  ]);
}

function bodySection(description, { requestBody }) {
  const body = resolve(description, requestBody);
  const schema = body?.content?.['application/json']?.schema;
  if (schema === undefined) return [];
  const title = `**Body**: ${typeOf(schema)}${body.required ? '' : ', may be absent'}`;
  return [title, '', ...table(['field', 'type', 'meaning'], fieldRows(resolve(description, schema)))];
}

/** The examples as commands, which tests send to a server. */
function exampleSection(description, operation) {
  const body = resolve(description, operation.requestBody);
  const examples = Object.entries(body?.content?.['application/json']?.examples ?? {});
  if (examples.length === 0) return [];
  const tabs = examples.map(([name, { value, 'x-collection': collection }]) => [
    `\`\`\`sh [${name.replaceAll('_', ' ')}]`,
    command(operation, value, collection),
    '```',
  ]);
  return ['::: code-group', '', ...tabs.flat(), '', ':::', ''];
}

function command({ method, path, parameters }, value, collection) {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    if (name === 'collection_name' && collection !== undefined) return collection;
    return encodeURIComponent(parameters.find((parameter) => parameter.name === name)?.example ?? name);
  });
  const verb = method === 'post' ? '' : `-X ${method.toUpperCase()} `;
  const text = json(value).replaceAll("'", "'\\''");
  return `curl ${verb}${ADDRESS}${filled} \\\n  -H 'content-type: application/json' \\\n  -d '${text}'`;
}

function answerSection(description, { responses }) {
  const rows = Object.entries(responses).map(([status, response]) => {
    const { description: about, content } = resolve(description, response);
    const schema = Object.values(content ?? {})[0]?.schema;
    return row([status, about, schema?.$ref === undefined ? '' : link(schema.$ref)]);
  });
  return ['**Answers**', '', ...table(['status', 'when', 'body'], rows)];
}

function schemasPage(schemas) {
  return page('Schemas', [
    'What bodies and answers are made of. A field that is not listed is refused in a body.',
    '',
    ...Object.entries(schemas)
      .sort(([one], [other]) => one.localeCompare(other))
      .flatMap(([name, schema]) => [`## ${name}`, '', prose(schema.description), '', ...schemaBody(schema)]),
  ]);
}

function schemaBody(schema) {
  const rows = fieldRows(schema);
  const alternatives = (schema.anyOf ?? schema.oneOf ?? []).filter(
    (one) => typeOf(one) !== 'object' || one.properties,
  );
  const union = alternatives.flatMap((one) => {
    const fields = fieldRows(one);
    const about = one.description === undefined ? '' : `: ${prose(one.description).replaceAll('\n', ' ')}`;
    return fields.length === 0
      ? [`- ${typeOf(one)}${about}`]
      : ['', `An object${about}`, '', ...table(['field', 'type', 'meaning'], fields)];
  });
  if (rows.length > 0) return [...table(['field', 'type', 'meaning'], rows), ...union, ''];
  return union.length > 0 ? ['One of:', '', ...union, ''] : [`Type: ${typeOf(schema)}`, ''];
}

function page(title, lines) {
  const text = [`# ${title}`, '', GENERATED, '', ...lines].join('\n');
  return `${text.replaceAll(/\n{3,}/g, '\n\n').trimEnd()}\n`;
}
