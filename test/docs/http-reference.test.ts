import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inScript } from './script';

const DESCRIPTION = join(__dirname, '..', '..', 'dist', 'openapi.json');

interface Description {
  readonly paths: Record<string, Record<string, unknown>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}

describe('the HTTP reference', () => {
  const description = JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as Description;
  const pages = inScript(
    'scripts/docs/http-reference.mjs',
    `script.httpReference(JSON.parse(require('node:fs').readFileSync('${DESCRIPTION}', 'utf8')))`,
  ) as Record<string, string>;
  const text = Object.values(pages).join('\n');

  it('has every endpoint, once with its section', () => {
    const endpoints = Object.entries(description.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((key) => key !== 'parameters')
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(endpoints.length).toBeGreaterThan(50);
    const sections = endpoints.map((endpoint) => text.split(`\n\`${endpoint}\` (operation `).length - 1);
    expect(sections).toEqual(endpoints.map(() => 1));
  });

  it('has every schema, and refers to no other', () => {
    const headings = [...pages['schemas.md']!.matchAll(/^## (\w+)$/gm)].map(([, name]) => name!);
    expect([...headings].sort()).toEqual(Object.keys(description.components.schemas).sort());
    const named = [...text.matchAll(/\[(\w+)\]\(schemas\.md#([\w-]+)\)/g)];
    expect(
      named.filter(([, name, anchor]) => !headings.includes(name!) || name!.toLowerCase() !== anchor),
    ).toEqual([]);
  });

  it('writes the bodies of its commands as the description has them', () => {
    expect(pages['points.md']).toContain(
      "curl -X PUT http://127.0.0.1:6363/collections/articles/points \\\n  -H 'content-type: application/json'",
    );
  });

  it('shows angle brackets in code as they are', () => {
    expect(pages['points.md']).toContain('`vector.<name>`');
  });
});
