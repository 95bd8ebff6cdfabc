/** Runs the steps of the Dockerfile: each stage is a folder, and RUN is executed with it as its root. */
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { homedir } from 'node:os';
import { BuildError, mustRun, output } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';
import { makeContainer, mustIn } from './chroot.mjs';

/** What the image `node:…-bookworm` has beside Node, of all that it has. */
const BUILD_PACKAGES = ['ca-certificates', 'python3', 'make', 'g++', 'pkg-config'];

/**
 * @typedef {object} Stage
 * @property {string} folder
 * @property {Record<string, string>} env
 * @property {string} cwd
 * @property {Record<string, string>} last the text of the last instruction of each name
 */

/**
 * Builds the image. Base images cannot be fetched without a registry, so Node and Rust are those of this machine.
 *
 * @returns {Promise<Stage>} the last stage
 */
export async function buildImage() {
  const { readDockerfile } = dockerfileReader();
  const instructions = readDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'));
  /** @type {Map<string, Stage>} */
  const stages = new Map();
  let step = 0;
  for (const { stage, name, text } of instructions) {
    if (name === 'FROM') {
      stages.set(stage, await baseOf(text));
    } else {
      const current = stages.get(stage);
      step += 1;
      await execute(`image-step-${step}`, current, stages, name, text);
      current.last[name] = text;
    }
  }
  return [...stages.values()].at(-1);
}

/** The tests read the Dockerfile too, in TypeScript. */
function dockerfileReader() {
  const load = createRequire(import.meta.url);
  load('../../../test/require-typescript.cjs');
  return load('../../../test/deploy/dockerfile.ts');
}

async function baseOf(text) {
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
  const [image] = text.split(' ');
  if (image.startsWith('rust:')) return { folder: await rustImage(image), env, cwd: '/', last: {} };
  if (image.startsWith('node:')) {
    const folder = await makeContainer('build', 'bookworm', BUILD_PACKAGES);
    await addNode(folder);
    return { folder, env, cwd: '/', last: {} };
  }
  if (/^debian:12\..*-slim$/.test(image)) {
    return { folder: await makeContainer('final', 'bookworm'), env, cwd: '/', last: {} };
  }
  throw new BuildError(`No container is known for the base image ${image}.`);
}

/** The folders of the image `rust` that the Dockerfile copies: the toolchain of this machine, of that very version. */
async function rustImage(image) {
  const wanted = /^rust:([\d.]+)-/.exec(image)?.[1];
  const sysroot = await output('rustc', ['--print', 'sysroot']);
  const found = / ([\d.]+) /.exec((await output('rustc', ['--version'])) ?? '')?.[1];
  if (sysroot === null || found !== wanted)
    throw new BuildError(`This needs Rust ${wanted}, and here is ${found}.`);
  const folder = join(root, '.build', 'image', 'rust');
  const cargo = join(folder, 'usr/local/cargo/bin');
  const toolchain = join(
    folder,
    'usr/local/rustup/toolchains',
    `${wanted}-${basename(sysroot).replace(/^[^-]+-/, '')}`,
  );
  mkdirSync(cargo, { recursive: true });
  const home = process.env.CARGO_HOME ?? join(homedir(), '.cargo');
  for (const name of ['cargo', 'rustc', 'rustup'])
    cpSync(join(home, 'bin', name), join(cargo, name), { dereference: true });
  if (!existsSync(toolchain)) {
    mkdirSync(dirname(toolchain), { recursive: true });
    await mustRun('image-rust', 'cp', ['--archive', '--reflink=auto', sysroot, toolchain]);
  }
  writeFileSync(join(folder, 'usr/local/rustup/settings.toml'), 'version = "12"\nprofile = "minimal"\n');
  return folder;
}

/** Node, its headers and npm, where the image has them. */
async function addNode(folder) {
  const prefix = dirname(dirname(process.execPath));
  const target = join(folder, 'usr/local');
  for (const path of ['include/node', 'lib/node_modules/npm']) {
    if (!existsSync(join(prefix, path)))
      throw new BuildError(`This machine's Node has no ${join(prefix, path)}.`);
    mkdirSync(dirname(join(target, path)), { recursive: true });
    await mustRun('image-node', 'cp', ['--archive', '--dereference', join(prefix, path), join(target, path)]);
  }
  cpSync(process.execPath, join(target, 'bin/node'));
  // Debian's package of Node has it elsewhere.
  const licences = [join(prefix, 'LICENSE'), join(prefix, 'share/doc/nodejs/LICENSE')];
  const licence = licences.find((path) => existsSync(path));
  if (licence === undefined) throw new BuildError(`This machine's Node has no ${licences.join(' and no ')}.`);
  cpSync(licence, join(target, 'LICENSE'));
  writeFileSync(
    join(target, 'bin/npm'),
    '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n',
    {
      mode: 0o755,
    },
  );
}

async function execute(log, stage, stages, name, text) {
  switch (name) {
    case 'ENV':
      for (const [, key, plain, quoted] of text.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g)) {
        stage.env[key] = (plain ?? quoted).replaceAll(/\$(\w+)/g, (_, variable) => stage.env[variable] ?? '');
      }
      return;
    case 'WORKDIR':
      stage.cwd = text;
      mkdirSync(join(stage.folder, text), { recursive: true });
      return;
    case 'COPY':
      await copy(stage, stages, text);
      return;
    case 'RUN':
      await mustIn(log, stage.folder, text, {
        env: { ...stage.env, ...network() },
        cwd: stage.cwd,
        mounts: cargoRegistry(stage),
      });
      return;
    default:
      // What describes a container and changes none.
      return;
  }
}

/** A builder reaches the registries in its own way; here as this machine does. */
function network() {
  const names = [
    'SSL_CERT_FILE',
    'NODE_EXTRA_CA_CERTS',
    'HTTPS_PROXY',
    'https_proxy',
    'NO_PROXY',
    'HTTP_PROXY',
  ];
  const found = names.filter((name) => process.env[name] !== undefined);
  return Object.fromEntries(found.map((name) => [name, process.env[name]]));
}

/** Crates that this machine has are not fetched again. */
function cargoRegistry({ folder }) {
  const own = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'registry');
  const inside = 'usr/local/cargo/registry';
  if (!existsSync(own) || !existsSync(join(folder, 'usr/local/cargo'))) return [];
  mkdirSync(join(folder, inside), { recursive: true });
  return [[own, inside]];
}

async function copy(stage, stages, text) {
  const { copied } = dockerfileReader();
  const { from, sources, target } = copied({ text });
  const to = join(stage.folder, target.startsWith('/') ? target : join(stage.cwd, target));
  for (const source of sources) {
    const path = from === undefined ? join(root, source) : join(stages.get(from).folder, source);
    const isFolder = statSync(path).isDirectory();
    // The content of a folder is copied, and not the folder; of several sources the target is one.
    const place = isFolder || !(target.endsWith('/') || sources.length > 1) ? to : join(to, basename(path));
    mkdirSync(isFolder ? place : dirname(place), { recursive: true });
    if (from === undefined) {
      // As .dockerignore has it.
      cpSync(path, place, { recursive: true, filter: (name) => basename(name) !== 'target' });
    } else {
      // From another stage with owners and modes.
      await mustRun('image-copy', 'cp', ['--archive', isFolder ? `${path}/.` : path, place]);
    }
  }
}
