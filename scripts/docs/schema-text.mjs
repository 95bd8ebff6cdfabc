/** Schemas of the description of the HTTP interface as Markdown: types in words, fields in tables, values as JSON. */
import { slugOf } from './slugs.mjs';

/** What a field holds, on one line: `integer`, `list of string`, a link to another schema. */
export function typeOf(schema) {
  if (schema === true || schema === undefined) return 'anything';
  if (schema.$ref !== undefined) return link(schema.$ref);
  if ('const' in schema) return code(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  const union = schema.anyOf ?? schema.oneOf;
  // Alternatives that only say which fields must be there are no types.
  if (union?.some(saysType)) return [...new Set(union.filter(saysType).map(typeOf))].join(' or ');
  const types = [schema.type ?? 'object'].flat();
  return types.map((type) => plainType(type, schema)).join(' or ');
}

function saysType(schema) {
  return ['type', '$ref', 'const', 'enum', 'anyOf', 'oneOf'].some((key) => key in schema);
}

function plainType(type, schema) {
  if (type === 'array') return schema.items === undefined ? 'list' : `list of ${typeOf(schema.items)}`;
  if (type !== 'object') return schema.format === undefined ? type : `${type} (${schema.format})`;
  const values = schema.additionalProperties;
  const isMap = schema.properties === undefined && typeof values === 'object';
  return isMap ? `object of ${typeOf(values)}` : 'object';
}

/** Rows of a table of fields: those of objects inside follow under their path. */
export function fieldRows(schema, path = '') {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = `${path}${name}`;
    const flags = [required.has(name) && '**required**', field.deprecated && '_deprecated_'].filter(Boolean);
    const limits = [...flags, limitsOf(field)].filter(Boolean).join(', ');
    const about = [limits, field.description].filter(Boolean).join('. ');
    return [row([code(own), typeOf(field), about]), ...fieldRows(insideOf(field), insidePath(own, field))];
  });
}

function insideOf(field) {
  const items = field.items !== undefined && field.items.$ref === undefined ? field.items : undefined;
  return items ?? field;
}

function insidePath(path, field) {
  return field.items === undefined ? `${path}.` : `${path}[].`;
}

function limitsOf(schema) {
  const range = [
    [schema.minimum, 'at least'],
    [schema.maximum, 'at most'],
    [schema.exclusiveMinimum, 'above'],
    [schema.exclusiveMaximum, 'below'],
  ].flatMap(([value, words]) => (value === undefined ? [] : [`${words} ${value.toLocaleString('en')}`]));
  const ends = schema.default === undefined ? [] : [`default ${code(schema.default)}`];
  return [...range, ...ends].join(', ');
}

/** A table, or nothing where it would have no rows. */
export function table(head, rows) {
  return rows.length === 0 ? [] : [row(head), row(head.map(() => '---')), ...rows, ''];
}

export function row(cells) {
  const clean = (cell) =>
    String(cell)
      .trim()
      .replaceAll(/\s*\n\s*/g, ' ')
      .replaceAll('|', '\\|');
  return `| ${cells.map(clean).join(' | ')} |`;
}

export function code(value) {
  return `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``;
}

export function link(ref) {
  const name = ref.split('/').at(-1);
  return `[${name}](schemas.md#${slugOf(name)})`;
}

/** Prose of the description: a line break inside a paragraph is none, and angle brackets are no HTML; in code they are none anyway. */
export function prose(text = '') {
  return text.trim().replaceAll(/`[^`]*`|</g, (found) => (found === '<' ? '&lt;' : found));
}

/** JSON on one line where it fits, else with a line for each member. */
export function json(value, indent = '', width = 92) {
  const short = oneLine(value);
  if (indent.length + short.length <= width || typeof value !== 'object' || value === null) return short;
  const inner = `${indent}  `;
  const members = Array.isArray(value)
    ? value.map((item) => inner + json(item, inner, width))
    : Object.entries(value).map(
        ([key, item]) => `${inner}${JSON.stringify(key)}: ${json(item, inner, width)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${members.join(',\n')}\n${indent}${close}`;
}

function oneLine(value) {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${oneLine(item)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
