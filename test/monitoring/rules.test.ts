import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ContractServer } from '../contract/contract-server';

const CONTRIB = join(__dirname, '..', '..', 'contrib');

/** The metrics that an expression names, each with the labels that it selects by. */
function metricsOf(expression: string): readonly (readonly [name: string, labels: readonly string[]])[] {
  return [...expression.matchAll(/\b((?:kithdb|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => [
      name,
      [...selector.matchAll(/([a-z_]+)\s*=/g)].map(([, label = '']) => label),
    ],
  );
}

/** Labels that Prometheus adds to what it scrapes. */
const ADDED: ReadonlySet<string> = new Set(['instance', 'job']);

describe('the dashboard and the alert rules', () => {
  let server: ContractServer;
  /** The labels of each sample of the metrics, by its name. */
  const labels = new Map<string, Set<string>>();

  beforeAll(async () => {
    server = await ContractServer.start();
    await server.call('POST', '/collections/absent/points/search', { vector: [1] });
    await server.call('GET', '/metrics');
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const { text } = await server.call('GET', '/metrics');
    for (const [, name = ''] of text.matchAll(/^# TYPE (\S+)/gm)) {
      labels.set(name, new Set());
    }
    for (const [, name = '', selector = ''] of text.matchAll(/^([a-z0-9_]+)(?:\{([^}]*)\})? /gm)) {
      const known = labels.get(name) ?? new Set<string>();
      for (const [, label = ''] of selector.matchAll(/([a-z_]+)="/g)) known.add(label);
      labels.set(name, known);
    }
  });
  afterAll(() => server.stop());

  const check = (expression: string): void => {
    const named = metricsOf(expression);
    expect(named).not.toEqual([]);
    for (const [name, selected] of named) {
      expect([...labels.keys()]).toContain(name);
      const isEmpty = labels.get(name)?.size === 0;
      for (const label of selected.filter((label) => !ADDED.has(label))) {
        // A counter that has counted nothing has no sample.
        if (!isEmpty) expect([name, ...(labels.get(name) ?? [])]).toContain(label);
      }
    }
  };

  it('name metrics and labels that the server has', () => {
    const dashboard = JSON.parse(readFileSync(join(CONTRIB, 'grafana', 'kithdb.json'), 'utf8')) as {
      readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
    };
    const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(shown.length).toBeGreaterThan(20);
    shown.forEach(check);
    const { groups } = parse(readFileSync(join(CONTRIB, 'prometheus', 'alerts.yaml'), 'utf8')) as {
      readonly groups: readonly {
        readonly rules: readonly { readonly alert: string; readonly expr: string }[];
      }[];
    };
    const rules = groups.flatMap(({ rules }) => rules);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    rules.forEach(({ expr }) => {
      check(expr);
    });
  });
});
