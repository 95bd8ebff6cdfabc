import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { inScript } from '../docs/script';

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
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
