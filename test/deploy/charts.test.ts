import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { loadConfig, readFlags } from '../../src/config';
import { environmentNames } from '../../src/config/sources';
import { itUnless, type Missing } from '../missing';

const DEPLOY = join(__dirname, '..', '..', 'deploy');
const CHART = join(DEPLOY, 'helm', 'kithdb');

function whyNo(command: string, ...argv: string[]): Missing {
  return spawnSync(command, argv).error === undefined ? undefined : `there is no ${command}`;
}

function helm(
  verb: readonly string[],
  settings: readonly string[],
): { code: number | null; out: string; err: string } {
  const set = settings.flatMap((setting) => ['--set', setting]);
  const argv = [...verb, CHART, '--kube-version', '1.31.0', ...set];
  const { status, stdout, stderr } = spawnSync('helm', argv, { encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

const IMAGE = 'image.repository=registry.example/kithdb';
const ALL = [
  IMAGE,
  'tls.secretName=certificate',
  'serviceMonitor.enabled=true',
  'backup.enabled=true',
  'networkPolicy.enabled=true',
  'networkPolicy.from[0].podSelector.matchLabels.app=web',
  'settings.memory_limit=2147483648',
  'auth.adminPassword=Correct-horse-7-staple',
  'auth.accessToken=0123456789012345678901234',
];

/** What the chart makes, by kind and name. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- Kubernetes' own types are not here
function objects(...settings: string[]): Map<string, any> {
  const { code, out, err } = helm(['template', 'demo'], settings);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const made = parseAllDocuments(out).map((document) => document.toJS());
  return new Map(made.filter(Boolean).map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

describe('the Helm chart', () => {
  const withHelm = itUnless(whyNo('helm', 'version'));

  withHelm('is accepted by helm lint', () => {
    for (const settings of [[IMAGE], ALL]) {
      expect(helm(['lint', '--strict'], settings)).toMatchObject({ code: 0 });
    }
    expect(helm(['template', 'demo'], [])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/image.repository is needed/),
    });
    const open = [IMAGE, 'networkPolicy.enabled=true'];
    expect(helm(['template', 'demo'], open)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/networkPolicy.from is needed/),
    });
  });

  withHelm('sets only settings, and passes no secret but in a file', () => {
    const made = objects(...ALL);
    const [container] = made.get('StatefulSet demo-kithdb').spec.template.spec.containers;
    const env: { name: string; value: string }[] = container.env;
    expect(env.filter(({ name }) => !environmentNames().has(name))).toEqual([]);
    expect(env.map(({ value }) => value).join()).not.toMatch(/staple|0123456789/);
    expect(env).toContainEqual({ name: 'KITHDB_MEMORY_LIMIT', value: '2147483648' });
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http', scheme: 'HTTPS' });
    expect(container.livenessProbe.httpGet.path).toBe('/livez');
    expect([...made.keys()].sort()).toEqual([
      'CronJob demo-kithdb-backup',
      'NetworkPolicy demo-kithdb',
      'PersistentVolumeClaim demo-kithdb-backups',
      'PodDisruptionBudget demo-kithdb',
      'Secret demo-kithdb',
      'Service demo-kithdb',
      'Service demo-kithdb-headless',
      'ServiceMonitor demo-kithdb',
      'StatefulSet demo-kithdb',
    ]);
  });

  withHelm('makes an access token and no admin where no credential is given', () => {
    const made = objects(IMAGE);
    const { data } = made.get('Secret demo-kithdb');
    expect(Object.keys(data)).toEqual(['access-token']);
    expect(Buffer.from(data['access-token'], 'base64').toString()).toMatch(/^[0-9A-Za-z]{43}$/);
    const [container] = made.get('StatefulSet demo-kithdb').spec.template.spec.containers;
    expect(container.env.map(({ name }: { name: string }) => name)).toEqual([
      'KITHDB_ACCESS_TOKEN_FILE',
      'KITHDB_ACCESS_TOKEN_PERMISSION',
    ]);
    expect(objects(IMAGE, 'auth.existingSecret=mine').has('Secret demo-kithdb')).toBe(false);
  });
});

/** The variables of the only container of a pod. */
function environmentOf(pod: {
  readonly spec: {
    readonly containers: readonly {
      readonly env?: readonly { readonly name: string; readonly value: string }[];
    }[];
  };
}): Readonly<Record<string, string>> {
  const [container] = pod.spec.containers;
  const env = container?.env ?? [];
  expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

describe('settings of the Helm chart', () => {
  const withHelm = itUnless(whyNo('helm', 'version'));

  withHelm('are those of the server and of the backups beside it', () => {
    const settings = ['settings.data_dir=/data/restored', 'settings.console=false'];
    const made = objects(IMAGE, 'backup.enabled=true', ...settings);
    const given = { KITHDB_DATA_DIR: '/data/restored', KITHDB_CONSOLE: 'false' };
    const server = environmentOf(made.get('StatefulSet demo-kithdb').spec.template);
    expect(server).toMatchObject(given);
    const job = made.get('CronJob demo-kithdb-backup').spec.jobTemplate.spec.template;
    expect(environmentOf(job)).toEqual(given);
    const without = objects(IMAGE, 'backup.enabled=true').get('CronJob demo-kithdb-backup');
    expect(environmentOf(without.spec.jobTemplate.spec.template)).toEqual({});
  });

  withHelm('may be lists, as their parsers read them', () => {
    const made = objects(
      ...[IMAGE, 'settings.trusted_proxies={10.0.0.0/8,2001:db8::/32}'],
      ...[
        'settings.models[0].name=small',
        'settings.models[0].url=http://a/v1',
        'settings.models[0].model=e',
      ],
    );
    const env = environmentOf(made.get('StatefulSet demo-kithdb').spec.template);
    const config = loadConfig({
      commandLine: readFlags([]),
      env: { KITHDB_TRUSTED_PROXIES: env['KITHDB_TRUSTED_PROXIES'], KITHDB_MODELS: env['KITHDB_MODELS'] },
      terminal: false,
    });
    expect(config.trustedProxies).toEqual(['10.0.0.0/8', '2001:db8::/32']);
    expect(config.models).toEqual([{ name: 'small', url: 'http://a/v1', model: 'e' }]);
  });

  withHelm('are refused where they would contradict the chart, or are no setting', () => {
    const cluster = [
      ...['cluster.enabled=true', 'cluster.servers=nats://nats:4222'],
      'cluster.tlsSecretName=kithdb-nodes',
    ];
    for (const [settings, problem] of [
      [['settings.port=7000'], /settings.port must be 6363 or absent/],
      [['settings.port=0'], /settings.port must be 6363 or absent/],
      [['settings.access_token_permission=read'], /settings.access_token_permission: the chart makes it/],
      [[...cluster, 'settings.cluster_name=other'], /settings.cluster_name: the chart makes it/],
      [[...cluster, 'settings.cluster_listen=[::]:7000'], /settings.cluster_listen must end with :6364/],
      [['settings.audit.log=x'], /settings.audit must be a single value/],
      [['settings.cors_origins[0].url=x'], /settings.cors_origins must be a text or a list of texts/],
    ] as const) {
      const made = helm(['template', 'demo'], [IMAGE, ...settings]);
      expect(made).toMatchObject({ code: 1, err: expect.stringMatching(problem) });
    }
    expect(helm(['template', 'demo'], [IMAGE, 'settings.port=6363'])).toMatchObject({ code: 0 });
    const six = ['settings.host=::', 'settings.cluster_listen=[::]:6364'];
    const made = objects(IMAGE, ...cluster, ...six).get('StatefulSet demo-kithdb');
    expect(environmentOf(made.spec.template)).toMatchObject({
      KITHDB_HOST: '::',
      KITHDB_CLUSTER_LISTEN: '[::]:6364',
    });
  });

  withHelm('a replaced access token starts the pod again, and a password does not', () => {
    const annotationsOf = (...settings: string[]): unknown =>
      objects(IMAGE, ...settings).get('StatefulSet demo-kithdb').spec.template.metadata.annotations;
    const [one, other] = ['a', 'b'].map((letter) =>
      annotationsOf(`auth.accessToken=${letter.repeat(30)}`, 'podAnnotations.mine=yes'),
    );
    const digest = { 'checksum/access-token': expect.stringMatching(/^[0-9a-f]{64}$/) as string };
    expect([one, other]).toEqual(Array(2).fill({ ...digest, mine: 'yes' }));
    expect(one).not.toEqual(other);
    expect(annotationsOf('auth.adminPassword=Correct-horse-7-staple')).toBeUndefined();
    expect(annotationsOf('auth.existingSecret=mine', `auth.accessToken=${'a'.repeat(30)}`)).toBeUndefined();
  });

  it('have one place in the templates, which the server and the backups include', () => {
    const templates = join(CHART, 'templates');
    const texts = readdirSync(templates).map(
      (name) => [name, readFileSync(join(templates, name), 'utf8')] as const,
    );
    const having = (text: string): readonly string[] =>
      texts.filter(([, template]) => template.includes(text)).map(([name]) => name);
    expect(having('.Values.settings')).toEqual(['_names.tpl']);
    expect(having('include "kithdb.settings" .')).toEqual(['backup.yaml', 'statefulset.yaml']);
    expect(having('sha256sum .Values.auth.accessToken')).toEqual(['_names.tpl']);
    expect(having('include "kithdb.tokenChecksum" .')).toEqual(['statefulset.yaml']);
  });
});

describe('the Helm chart of a cluster', () => {
  const withHelm = itUnless(whyNo('helm', 'version'));
  const NODES = [
    IMAGE,
    'cluster.enabled=true',
    'cluster.servers=nats://nats:4222',
    'cluster.tlsSecretName=kithdb-nodes',
  ];
  const EVERYTHING = [
    ...NODES,
    'cluster.store=s3://bucket/prefix',
    'cluster.storeEndpoint=http://minio:9000',
    'cluster.awsSecretName=aws',
    'cluster.natsCredentialsSecretName=nats',
    'cluster.natsTlsSecretName=nats-tls',
    'networkPolicy.enabled=true',
    'networkPolicy.from[0].podSelector.matchLabels.app=web',
  ];

  withHelm('is accepted by helm lint, also with values-cluster.yaml', () => {
    for (const settings of [NODES, EVERYTHING]) {
      expect(helm(['lint', '--strict'], settings)).toMatchObject({ code: 0 });
    }
    const values = ['--values', join(CHART, 'values-cluster.yaml')];
    expect(helm(['template', 'demo', ...values], [IMAGE])).toMatchObject({ code: 0, err: '' });
  });

  withHelm('has nodes whose settings fit together', () => {
    const made = objects(...EVERYTHING);
    const { spec } = made.get('StatefulSet demo-kithdb');
    expect(spec).toMatchObject({ replicas: 3, podManagementPolicy: 'Parallel' });
    const [container] = spec.template.spec.containers;
    const names = container.env.map(({ name }: { name: string }) => name);
    const others = ['POD_NAME', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
    expect(names.filter((name: string) => !environmentNames().has(name)).sort()).toEqual(others.sort());
    expect(container.env).toContainEqual({
      name: 'KITHDB_CLUSTER_ADVERTISE',
      value: '$(POD_NAME).demo-kithdb-headless.default.svc:6364',
    });
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name).sort();
    const declared = spec.template.spec.volumes.map(({ name }: { name: string }) => name);
    expect([...declared, 'data'].sort()).toEqual(mounted);
    expect(made.get('PodDisruptionBudget demo-kithdb').spec.maxUnavailable).toBe(1);
    const headless = made.get('Service demo-kithdb-headless').spec;
    expect(headless.publishNotReadyAddresses).toBe(true);
    expect(headless.ports.map(({ name }: { name: string }) => name)).toEqual(['http', 'nodes']);
    const policy = made.get('NetworkPolicy demo-kithdb').spec;
    expect(policy.policyTypes).toEqual(['Ingress']);
    expect(policy.ingress).toHaveLength(2);
  });

  withHelm('refuses what is missing or for one server alone', () => {
    for (const [settings, problem] of [
      [[IMAGE, 'cluster.enabled=true', 'cluster.tlsSecretName=x'], /cluster.servers is needed/],
      [[IMAGE, 'cluster.enabled=true', 'cluster.servers=nats://nats:4222'], /tlsSecretName is needed/],
      [[...NODES, 'backup.enabled=true'], /backup.enabled is for one server/],
    ] as const) {
      expect(helm(['template', 'demo'], settings)).toMatchObject({
        code: 1,
        err: expect.stringMatching(problem),
      });
    }
  });
});

describe('the unit of systemd', () => {
  const unit = readFileSync(join(DEPLOY, 'systemd', 'kithdb.service'), 'utf8');

  it('allows the threads of a server with 1,000 cores, or with as many threads for reads as there may be', () => {
    const [, tasks] = /^TasksMax=(\d+)$/m.exec(unit) ?? [];
    expect(Number(tasks)).toBeGreaterThan(5 * 1000 + 100);
    expect(Number(tasks)).toBeGreaterThan(1024 + 5 * 256 + 100);
  });

  it('names the settings of its drop-in, with specifiers where systemd reads them', () => {
    const [, name = ''] = /^#\s+Environment=(\w+)=%d\/access-token$/m.exec(unit) ?? [];
    expect(environmentNames().has(name)).toBe(true);
    expect(unit).toMatch(/^#\s+LoadCredential=access-token:/m);
    const specifiers = unit.split('\n').filter((line) => line.includes('%'));
    expect(specifiers.filter((line) => !/^(?:#\s+)?Environment=/.test(line))).toEqual([]);
  });

  it('uses the data directory of the unit of backups', () => {
    const backups = readFileSync(join(DEPLOY, 'systemd', 'kithdb-backup.service'), 'utf8');
    const [, state = ''] = /^StateDirectory=(\S+)$/m.exec(unit) ?? [];
    expect(unit).toMatch(/^ExecStart=.* --data-dir \$\{STATE_DIRECTORY\}$/m);
    expect(backups).toMatch(new RegExp(`^ExecStart=.* --data-dir /var/lib/${state} `, 'm'));
  });
});

const units = readdirSync(join(DEPLOY, 'systemd')).map((name) => join(DEPLOY, 'systemd', name));

itUnless(whyNo('systemd-analyze', '--version'))('the systemd units are accepted by systemd-analyze', () => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
