import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { inScript } from '../docs/script';

interface Step {
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>;
}

const VERSION = '1.2.3';
const workflow = parse(
  readFileSync(join(__dirname, '..', '..', '.github', 'workflows', 'release.yml'), 'utf8'),
) as Workflow;
const optional = inScript(
  'scripts/package/manifest.mjs',
  'script.OPTIONAL_PACKAGES.map(({ name }) => name)',
) as string[];
const engines = inScript(
  'scripts/package/platforms.mjs',
  'script.platforms.map((platform) => script.packageOf(platform))',
) as string[];

/** The name of a tarball, as npm pack makes it. */
const tarballOf = (name: string): string => `${name.replace('@', '').replace('/', '-')}-${VERSION}.tgz`;

test('a release publishes every package, and kithdb last', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-release-'));
  try {
    const release = join(folder, 'release');
    mkdirSync(release);
    const names = [...engines, ...optional, 'kithdb'];
    for (const name of names) writeFileSync(join(release, tarballOf(name)), name);
    execFileSync('bash', ['-c', 'sha256sum -- * > SHA256SUMS'], { cwd: release });
    const npm = join(folder, 'npm');
    writeFileSync(npm, '#!/bin/sh\necho "$2 $*" >> "$PUBLISHED"\n');
    chmodSync(npm, 0o755);
    const published = join(folder, 'published');
    const script = workflow.jobs['npm']?.steps.find(({ run }) => run?.includes('npm publish'))?.run ?? '';
    execFileSync('bash', ['-eo', 'pipefail', '-c', script], {
      cwd: folder,
      env: {
        PATH: `${folder}:${process.env['PATH'] ?? ''}`,
        PUBLISHED: published,
        TAG: 'latest',
        VERSION,
      },
    });
    const calls = readFileSync(published, 'utf8').trim().split('\n');
    const files = calls.map((call) => call.split(' ')[0]?.replace('./release/', ''));
    expect([...files].sort()).toEqual(names.map(tarballOf).sort());
    expect(files.at(-1)).toBe(tarballOf('kithdb'));
    for (const call of calls) expect(call).toMatch(/--access public --provenance --tag latest$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the image of a release says its version, its revision and when it was made', () => {
  const labels = workflow.jobs['image']?.steps.map((step) => step.with?.['labels']).find(Boolean);
  for (const name of ['version', 'revision', 'created'])
    expect(labels).toMatch(new RegExp(`^org\\.opencontainers\\.image\\.${name}=\\S`, 'm'));
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-release-'));
  try {
    const script = workflow.jobs['version']?.steps.find(({ run }) => run?.includes('created='))?.run ?? '';
    const line = script.split('\n').find((one) => one.includes('created=')) ?? '';
    const output = join(folder, 'output');
    execFileSync('bash', ['-c', line], { env: { PATH: process.env['PATH'], GITHUB_OUTPUT: output } });
    expect(readFileSync(output, 'utf8')).toMatch(/^created=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('every manifest of packages is in a folder that dependabot looks at', () => {
  const { updates } = parse(
    readFileSync(join(__dirname, '..', '..', '.github', 'dependabot.yml'), 'utf8'),
  ) as { readonly updates: readonly { 'package-ecosystem': string; directories?: string[] }[] };
  const watched = (ecosystem: string): string[] =>
    updates.find((one) => one['package-ecosystem'] === ecosystem)?.directories ?? [];
  const isWatched = (ecosystem: string, manifest: string): boolean =>
    watched(ecosystem).some((place) => matchesGlob(`/${dirname(manifest)}`.replace('/.', '/'), place));
  const files = execFileSync('git', ['ls-files', '*package.json', '*requirements*.txt'], {
    cwd: join(__dirname, '..', '..'),
    encoding: 'utf8',
  });
  const unwatched = files
    .trim()
    .split('\n')
    .filter((file) => !isWatched(file.endsWith('.json') ? 'npm' : 'pip', file));
  expect(unwatched).toEqual([]);
});

function matchesGlob(path: string, glob: string): boolean {
  const [head, rest = ''] = glob.split('*', 2);
  return glob.endsWith('/*')
    ? path.startsWith(head ?? '') && !path.slice((head ?? '').length).includes('/') && rest === ''
    : path === glob;
}
