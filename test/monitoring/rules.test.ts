import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ContractServer } from '../contract/contract-server';

const CONTRIB = join(__dirname, '..', '..', 'contrib');

/** A condition on a label, and the values of it that are named whole. */
interface Selected {
  readonly label: string;
  readonly values: readonly string[];
}

/** The metrics that an expression names, each with what it selects by. */
function metricsOf(expression: string): readonly (readonly [name: string, selected: readonly Selected[]])[] {
  return [...expression.matchAll(/\b((?:kithdb|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => [
      name,
      [...selector.matchAll(/([a-z_]+)\s*(!?=~?)\s*"([^"]*)"/g)].map(
        ([, label = '', operator = '', value = '']) => ({
          label,
          values: operator.endsWith('~') ? value.split('|').filter((one) => /^[a-z_]+$/.test(one)) : [value],
        }),
      ),
    ],
  );
}

/** Labels that Prometheus adds to what it scrapes. */
const ADDED: ReadonlySet<string> = new Set(['instance', 'job']);

describe('the metrics that are named by the dashboard, by alert rules and by the console', () => {
  let server: ContractServer;
  /** The labels of each sample of the metrics, by its name, and the same with their values. */
  const labels = new Map<string, Set<string>>();

  beforeAll(async () => {
    server = await ContractServer.start(['--metrics-collections', '10']);
    const path = await server.holding([{ id: 1, vector: [1, 2] }]);
    await server.ok('POST', `${path}/points/search`, { vector: [1, 2], limit: 1 });
    await server.call('POST', '/collections/absent/points/search', { vector: [1] });
    await server.call('GET', '/metrics');
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const { text } = await server.call('GET', '/metrics');
    for (const [, name = ''] of text.matchAll(/^# TYPE (\S+)/gm)) {
      labels.set(name, new Set());
    }
    for (const [, name = '', selector = ''] of text.matchAll(/^([a-z0-9_]+)(?:\{([^}]*)\})? /gm)) {
      const known = labels.get(name) ?? new Set<string>();
      for (const [pair, label = ''] of selector.matchAll(/([a-z_]+)="[^"]*"/g)) known.add(label).add(pair);
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
      for (const { label, values } of selected.filter(({ label }) => !ADDED.has(label))) {
        // A counter that has counted nothing has no sample.
        if (isEmpty) continue;
        for (const wanted of [label, ...values.map((value) => `${label}="${value}"`)]) {
          expect([name, ...(labels.get(name) ?? [])]).toContain(wanted);
        }
      }
    }
  };

  it('are those of the server, with their labels', () => {
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

  it('are those of the server in the console too', () => {
    const folder = join(__dirname, '..', '..', 'src', 'console', 'app');
    const files = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
      /\.tsx?$/.test(name),
    );
    // Metrics are strings there; a field of an answer is not.
    const named = files.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/['"`](kithdb_\w+)/g)].map(
        ([, metric]) => metric,
      ),
    );
    expect(named).toContain('kithdb_last_backup_timestamp_seconds');
    expect(named.filter((metric) => !labels.has(metric ?? ''))).toEqual([]);
  });
});
