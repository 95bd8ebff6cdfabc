import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

const NAMES = [...engines, ...optional, 'kithdb'];

/** Answers `npm view` from the file PUBLISHED, as the registry does: a package that is not there at all is an error. */
const NPM = `#!/bin/sh
case "$1" in
view)
  grep -q "^\${2%@*}@" "$PUBLISHED" || exit 1
  sed -n "s|^$2 ||p" "$PUBLISHED" ;;
publish) echo "$2 $*" >> "$CALLS" ;;
esac
`;

/** What the step of the workflow that publishes asks npm for; `there` has the packages that are on the registry. */
function published(there: (bytesOf: (name: string) => Buffer) => readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-release-'));
  try {
    const release = join(folder, 'release');
    mkdirSync(release);
    for (const name of NAMES) writeFileSync(join(release, tarballOf(name)), name);
    execFileSync('bash', ['-c', 'sha256sum -- * > SHA256SUMS'], { cwd: release });
    const [npm, calls, registry] = [join(folder, 'npm'), join(folder, 'calls'), join(folder, 'registry')];
    writeFileSync(npm, NPM, { mode: 0o755 });
    writeFileSync(calls, '');
    const lines = there((name) => readFileSync(join(release, tarballOf(name))));
    writeFileSync(registry, lines.map((line) => `${line}\n`).join(''));
    const script = workflow.jobs['npm']?.steps.find(({ run }) => run?.includes('npm publish'))?.run ?? '';
    const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
    execFileSync('bash', ['-eo', 'pipefail', '-c', script], {
      cwd: folder,
      env: { PATH, CALLS: calls, PUBLISHED: registry, TAG: 'latest', VERSION },
      stdio: 'pipe',
    });
    return readFileSync(calls, 'utf8').trim().split('\n').filter(Boolean);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A line of the registry: a version of a package with its integrity. */
function entryOf(name: string, bytes: Buffer): string {
  const digest = createHash('sha512').update(bytes).digest('base64');
  return `${name}@${VERSION} sha512-${digest}`;
}

const filesOf = (calls: readonly string[]): readonly (string | undefined)[] =>
  calls.map((call) => call.split(' ')[0]?.replace('./release/', ''));

test('a release publishes every package, and kithdb last', () => {
  const calls = published(() => []);
  const files = filesOf(calls);
  expect([...files].sort()).toEqual(NAMES.map(tarballOf).sort());
  expect(files.at(-1)).toBe(tarballOf('kithdb'));
  for (const call of calls) expect(call).toMatch(/--access public --provenance --tag latest$/);
});

test('a release that was interrupted is finished: what is there with the same bytes is not published again', () => {
  const there = [engines[0]!, '@kithdb/cluster', '@kithdb/mcp'];
  const calls = published((bytesOf) => there.map((name) => entryOf(name, bytesOf(name))));
  const rest = NAMES.filter((name) => !there.includes(name));
  expect([...filesOf(calls)].sort()).toEqual(rest.map(tarballOf).sort());
  expect(published((bytesOf) => NAMES.map((name) => entryOf(name, bytesOf(name))))).toEqual([]);
});

test('a version that is there with other bytes is left to npm, which refuses it', () => {
  const calls = published(() => ['kithdb', '@kithdb/mcp'].map((name) => entryOf(name, Buffer.from('other'))));
  expect([...filesOf(calls)].sort()).toEqual(NAMES.map(tarballOf).sort());
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
