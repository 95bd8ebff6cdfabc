import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { loadConfig, readFlags } from '../../src/config';
import { environmentNames } from '../../src/config/sources';
import { isNoNats, NATS_SERVER } from '../cluster/nats-server';
import { itUnless } from '../missing';
import { copied, readDockerfile } from './dockerfile';

const ROOT = join(__dirname, '..', '..');
const text = (name: string): string => readFileSync(join(ROOT, name), 'utf8');
const instructions = readDockerfile(text('Dockerfile'));
const of = (name: string) => instructions.filter((instruction) => instruction.name === name);
const last = instructions.at(-1)!.stage;
const final = instructions.filter(({ stage }) => stage === last);

describe('the Dockerfile', () => {
  it('has only instructions and keys that exist', () => {
    const known = 'FROM RUN COPY ENV WORKDIR USER LABEL VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD';
    expect(
      [...new Set(instructions.map(({ name }) => name))].filter((name) => !known.includes(name)),
    ).toEqual([]);
  });

  it('pins every base image by its version, and builds with the Rust of Cargo.toml', () => {
    for (const { text: base } of of('FROM')) {
      expect(base).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]+( AS \w+)?$/);
    }
    const [, rust] = /^rust-version = "(.*)"$/m.exec(text('Cargo.toml')) ?? [];
    expect(of('FROM')[0]?.text).toContain(`rust:${rust}.`);
    expect(text('Dockerfile')).toContain(`RUSTUP_TOOLCHAIN=${rust}.`);
  });

  it('copies only what exists, and what .dockerignore lets into the context', () => {
    const ignored = text('.dockerignore').split('\n');
    // By itself, or with a folder that it is in.
    const isLetIn = (source: string): boolean =>
      ignored.some((line) => line.startsWith('!') && `${source}/`.startsWith(`${line.slice(1)}/`));
    const stages = new Set(of('FROM').map(({ stage }) => stage));
    for (const instruction of of('COPY')) {
      const { from, sources } = copied(instruction);
      for (const source of sources) {
        if (from === undefined) {
          expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
          expect([source, isLetIn(source)]).toEqual([source, true]);
        } else {
          expect(stages).toContain(from);
          expect(source).toMatch(/^\//);
        }
      }
    }
  });

  it('ends in an image without npm and compilers, for a user without rights', () => {
    expect(final[0]?.text).toMatch(/^debian:.*-slim$/);
    expect(final.filter(({ name }) => name === 'RUN')).toEqual([]);
    expect(final.filter(({ name }) => name === 'USER').map(({ text: user }) => user)).toEqual(['1000:1000']);
    expect(final.filter(({ name }) => name === 'STOPSIGNAL').map(({ text: signal }) => signal)).toEqual([
      'SIGTERM',
    ]);
  });

  it('has what OCI asks of labels, and exec forms that are JSON', () => {
    const labels = final.find(({ name }) => name === 'LABEL')!.text;
    for (const label of [
      'title',
      'description',
      'source',
      'documentation',
      'vendor',
      'licenses',
      'base.name',
    ]) {
      expect(labels).toContain(`org.opencontainers.image.${label}=`);
    }
    for (const { name, text: form } of final.filter(({ name: one }) =>
      ['ENTRYPOINT', 'CMD', 'HEALTHCHECK'].includes(one),
    )) {
      const [json = ''] = /\[.*\]$/.exec(form) ?? [];
      expect([name, Array.isArray(JSON.parse(json))]).toEqual([name, true]);
    }
    expect(final.find(({ name }) => name === 'HEALTHCHECK')?.text).toMatch(/CMD \["kithdb-health"\]$/);
  });

  it('sets only settings', () => {
    const env = final.find(({ name }) => name === 'ENV')!.text;
    const names = [...env.matchAll(/(KITHDB_\w+)=/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !environmentNames().has(name))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  it('builds the image, pulls none by itself, and confines the container', () => {
    const { services, volumes } = parse(text('compose.yaml'));
    const { kithdb } = services;
    expect(kithdb).toMatchObject({
      image: '${KITHDB_IMAGE:-kithdb:local}',
      build: '.',
      pull_policy: '${KITHDB_PULL_POLICY:-build}',
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      ports: ['127.0.0.1:6363:6363'],
    });
    const named = (kithdb.volumes as string[]).map((volume) => volume.split(':')[0]);
    expect(Object.keys(volumes)).toEqual(named);
    // What is commented out is right too.
    const [head = '', rest = ''] = text('compose.yaml').split(/^services:/m);
    expect(head).toMatch(/access-token\.txt/);
    const uncommented = parse(
      `services:${rest.replaceAll(/^(\s*)# (secrets:|environment:| {2}.*)$/gm, '$1$2')}`,
    );
    expect(uncommented.services.kithdb.environment).toEqual({
      KITHDB_ACCESS_TOKEN_FILE: '/run/secrets/access_token',
    });
    expect(uncommented.secrets.access_token.file).toBe('./access-token.txt');
  });
});

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly command?: readonly string[];
}

describe('compose.cluster.yaml', () => {
  const file = parse(text('compose.cluster.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: object;
    readonly configs: { readonly log: { readonly content: string } };
  };
  const nodes = Object.entries(file.services).filter(([name]) => name.startsWith('kithdb-'));

  it('has three nodes with settings that fit together, and three log servers', () => {
    expect(Object.keys(file.services).filter((name) => name.startsWith('log-'))).toHaveLength(3);
    expect(nodes).toHaveLength(3);
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-compose-'));
    for (const [at, [name, { environment = {}, ports = [] }]] of nodes.entries()) {
      // As the container has them, but for the files.
      const env = Object.entries(environment).map(([key, value]) => {
        if (!value.startsWith('/certificates/') && !value.startsWith('/run/secrets/')) return [key, value];
        const path = join(folder, value.replaceAll('/', '_'));
        writeFileSync(path, value.startsWith('/run') ? 'x'.repeat(32) : '-----BEGIN X-----\n');
        return [key, path];
      });
      const { cluster } = loadConfig({
        commandLine: readFlags([]),
        env: Object.fromEntries(env) as Record<string, string>,
        terminal: false,
      });
      expect(cluster).toMatchObject({
        advertise: { host: name, port: 6364 },
        store: '/checkpoints',
        log: { servers: ['log-1:4222', 'log-2:4222', 'log-3:4222'] },
      });
      expect(cluster?.tls?.certFile).toMatch(new RegExp(`node-${at + 1}\\.pem$`));
      expect(ports[0]).toMatch(/^127\.0\.0\.1:/);
    }
    rmSync(folder, { recursive: true });
  });

  it('declares each volume, and the image has a folder of its user for those of ours', () => {
    const mounts = Object.values(file.services).flatMap(({ volumes = [] }) => volumes);
    expect(Object.keys(file.volumes).sort()).toEqual(
      [...new Set(mounts.map((mount) => mount.split(':')[0] ?? ''))].sort(),
    );
    const made = of('RUN').find((instruction) => instruction.text.includes('install -d'))?.text;
    for (const folder of ['data', 'checkpoints', 'certificates']) expect(made).toContain(`/image/${folder}`);
    expect(file.services['certificates']?.command?.slice(0, 2).join(' ')).toBe('cluster certificates');
  });

  itUnless(isNoNats)('has a configuration that a log server accepts', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'kithdb-nats-conf-')), 'log.conf');
    const { content } = file.configs.log;
    expect(content).toContain('sync_interval: always');
    writeFileSync(path, content);
    const { status, stderr } = spawnSync(NATS_SERVER, ['--config', path, '-t'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.stringContaining('valid')]);
  });
});
