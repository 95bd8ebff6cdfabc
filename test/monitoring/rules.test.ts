import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { lookBetween } from '../../src/console/app/server/look';
import { METRICS } from '../../src/console/app/server/metrics';
import { Figures } from '../../src/console/app/server/prometheus';
import { ContractServer } from '../contract/contract-server';
import { sleep } from '../until';

const CONTRIB = join(__dirname, '..', '..', 'contrib');

/** A condition on a label, and the values of it that are named whole. */
interface Selected {
  readonly label: string;
  readonly values: readonly string[];
}

/** The metrics that an expression names, each with what it selects by. */
function metricsOf(expression: string): readonly (readonly [name: string, selected: readonly Selected[]])[] {
  return [...expression.matchAll(/\b((?:kithdb|process|nodejs)_[a-z0-9_]+|up(?=\{))(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => [
      name,
      [...selector.matchAll(/([a-z_]+)\s*!?=~?\s*"([^"]*)"/g)].map(([, label = '', value = '']) => ({
        label,
        // A status that no request of the test had has no sample, and a pattern is no list of words.
        values: label === 'code' || !/^[a-z_|]+$/.test(value) ? [] : value.split('|'),
      })),
    ],
  );
}

/** Labels that Prometheus adds to what it scrapes. */
const ADDED: ReadonlySet<string> = new Set(['instance', 'job']);

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly panels?: readonly Panel[];
}

/** The panels of the dashboard, those of collapsed rows too. */
function readPanels(): readonly Panel[] {
  const text = readFileSync(join(CONTRIB, 'grafana', 'kithdb.json'), 'utf8');
  const { panels } = JSON.parse(text) as { readonly panels: readonly Panel[] };
  return panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

function readRules(): readonly Rule[] {
  const { groups } = parse(readFileSync(join(CONTRIB, 'prometheus', 'alerts.yaml'), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

interface RuleTest {
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly exp_alerts: readonly unknown[];
  }[];
}

/** What the tests for promtool expect: of each series that they have, the alerts that it raises in the end. */
function readRuleTests(): readonly { readonly alert: string; readonly fires: boolean }[] {
  const tests = ['alerts.test.yaml', 'alerts-days.test.yaml'].flatMap((name) => {
    const text = readFileSync(join(CONTRIB, 'prometheus', name), 'utf8');
    return (parse(text) as { readonly tests: readonly RuleTest[] }).tests;
  });
  return tests.flatMap(({ alert_rule_test: steps }) =>
    steps
      .slice(-1)
      .map(({ alertname, exp_alerts: raised }) => ({ alert: alertname, fires: raised.length > 0 })),
  );
}

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
    const text = await metrics();
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

  /** The text is kept for a second. */
  async function metrics(): Promise<string> {
    await sleep(1100);
    return (await server.call('GET', '/metrics')).text;
  }

  const check = (expression: string): void => {
    const named = metricsOf(expression);
    expect(named).not.toEqual([]);
    for (const [name, selected] of named.filter(([name]) => name !== 'up')) {
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
    const shown = readPanels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(shown.length).toBeGreaterThan(20);
    shown.forEach(check);
    const rules = readRules();
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    rules.forEach(({ expr }) => {
      check(expr);
    });
  });

  it('are in panels that lie beside each other, each line with a name', () => {
    const panels = readPanels();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { type, targets = [] } of panels) {
      if (type === 'timeseries') expect(targets.map(({ legendFormat }) => legendFormat)).not.toContain('');
    }
  });

  it('are in alert rules that each have a test that raises it and one that does not', () => {
    const tests = readRuleTests();
    for (const { alert } of readRules()) {
      const own = tests.filter((test) => test.alert === alert).map(({ fires }) => fires);
      expect([alert, ...own.sort()]).toEqual([alert, false, true]);
    }
  });

  it('are in the guide where an alert rule names them', () => {
    const guide = readFileSync(join(__dirname, '..', '..', 'docs', 'guides', 'monitoring.md'), 'utf8');
    for (const { expr } of readRules()) {
      for (const [name] of metricsOf(expr)) expect(guide).toContain(name.replace(/_bucket$/, ''));
    }
  });

  it('are those of the server in the console too, with their labels', () => {
    for (const [name, selected] of Object.entries(METRICS)) {
      expect([...labels.keys()]).toContain(name);
      for (const [label, values] of Object.entries(selected) as [string, readonly string[] | 'any'][]) {
        const wanted = values === 'any' ? [label] : values.map((value) => `${label}="${value}"`);
        expect([name, ...(labels.get(name) ?? [])]).toEqual(expect.arrayContaining(wanted));
      }
    }
    // Each kind of health issue has a text there.
    const kinds = [...(labels.get('kithdb_health_issues') ?? [])].filter((pair) => pair.includes('='));
    expect(kinds.sort()).toEqual(METRICS.kithdb_health_issues.kind.map((kind) => `kind="${kind}"`).sort());
  });

  it('are read by the console through its table alone', () => {
    const folder = join(__dirname, '..', '..', 'src', 'console', 'app');
    const files = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
      /\.tsx?$/.test(name),
    );
    // Metrics are strings there; a field of an answer is not.
    const named = files.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/['"`](kithdb_\w+)/g)].map(
        ([, metric = '']) => metric,
      ),
    );
    expect(Object.keys(METRICS)).toEqual(expect.arrayContaining(named));
    // And each is used.
    expect([...new Set(named)].sort()).toEqual(Object.keys(METRICS).sort());
  });

  it('give the charts of the console what happened between two looks', async () => {
    const path = await server.holding([{ id: 1, vector: [1, 2] }]);
    const before = { at: 100, figures: new Figures(await metrics()) };
    for (let request = 0; request < 12; request += 1) await server.ok('GET', path);
    for (let request = 0; request < 4; request += 1) await server.refused('GET', '/collections/absent');
    const now = { at: 110, figures: new Figures(await metrics()) };
    expect(lookBetween(before, now)).toEqual({
      ...{ at: 110, answered: 1.2, refused: 0.4, failed: 0, aborted: 0 },
      ...{ median: expect.any(Number), slowest: expect.any(Number) },
      ...{ held: expect.any(Number), engine: expect.any(Number) },
      ...{ log: expect.any(Number), data: expect.any(Number) },
      ...{ waiting: 0, running: expect.any(Number) },
      ...{ dense: 0, sparse: 0, field: 0 },
    });
  });

  it('tell the console of failures, of requests that were given up, and of each kind of backlog', () => {
    const text = (requests: number): string =>
      [
        `kithdb_http_requests_total{method="POST",route="/a",code="503"} ${requests}`,
        `kithdb_http_requests_total{method="POST",route="/a",code="500"} ${requests}`,
        `kithdb_http_requests_total{method="POST",route="/a",code="304"} ${requests}`,
        `kithdb_http_requests_total{method="POST",route="none",code="aborted"} ${2 * requests}`,
        `kithdb_http_requests_total{method="GET",route="/metrics",code="200"} ${100 * requests}`,
        'kithdb_index_backlog{kind="dense"} 7',
        'kithdb_index_backlog{kind="sparse"} 8',
        'kithdb_index_backlog{kind="field"} 9',
      ].join('\n');
    const at = (seconds: number, requests: number) => ({
      at: seconds,
      figures: new Figures(text(requests)),
    });
    const look = lookBetween(at(0, 10), at(2, 14));
    expect(look).toMatchObject({ answered: 2, refused: 0, failed: 4, aborted: 4 });
    expect(look).toMatchObject({ dense: 7, sparse: 8, field: 9, held: null, waiting: null });
    // A server that was started again counts from 0.
    expect(lookBetween(at(0, 10), at(2, 1))).toMatchObject({ answered: null, failed: null });
  });
});
