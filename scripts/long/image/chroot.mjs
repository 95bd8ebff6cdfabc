/**
 * Folders that stand for containers: a Debian made by debootstrap, and commands that run with it as their root. Mounts are
 * made in a namespace of each command, so none is left when it ends.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, output, run } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';

const folder = join(root, '.build', 'image');
/** Debian's own images lack these too. */
const LEFT_OUT = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'var/cache/apt', 'var/lib/apt/lists'];

/** Why no such container can be made here; undefined where one can. */
export async function whyNoChroot() {
  if (process.platform !== 'linux' || process.getuid() !== 0) return 'only root on Linux can make a chroot';
  for (const [command, flag] of [
    ['debootstrap', '--version'],
    ['unshare', '--version'],
  ]) {
    if ((await output(command, [flag])) === null) return `there is no ${command}`;
  }
  return (await output('unshare', ['--mount', 'true'])) === null
    ? 'no right to make a namespace of mounts'
    : undefined;
}

/**
 * A new container of a Debian release, with further packages. What debootstrap made is kept for the next one.
 *
 * @param {string} name of its folder
 * @param {string} release such as `bookworm`
 * @param {string[]} [packages]
 * @returns {Promise<string>} its root
 * @throws {NoMirror} where there is no mirror of Debian
 */
export async function makeContainer(name, release, packages = []) {
  const base = join(folder, `debian-${release}`);
  if (!existsSync(base)) {
    mkdirSync(folder, { recursive: true });
    const partial = `${base}.partial`;
    rmSync(partial, { recursive: true, force: true });
    const args = ['--variant=minbase', release, partial, 'http://deb.debian.org/debian'];
    const { code, log } = await run('image-debootstrap', 'debootstrap', args);
    if (code !== 0) {
      rmSync(partial, { recursive: true, force: true });
      throw new NoMirror(`debootstrap could not make a Debian, see ${log}`);
    }
    for (const path of LEFT_OUT) rmSync(join(partial, path), { recursive: true, force: true });
    renameSync(partial, base);
  }
  const container = join(folder, name);
  rmSync(container, { recursive: true, force: true });
  await mustRun('image-copy', 'cp', ['--archive', '--reflink=auto', base, container]);
  if (packages.length > 0) {
    borrowNetwork(container);
    mkdirSync(join(container, 'var/cache/apt/archives/partial'), { recursive: true });
    mkdirSync(join(container, 'var/lib/apt/lists/partial'), { recursive: true });
    const install = `apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ${packages.join(' ')}`;
    await mustIn('image-packages', container, install);
    // ca-certificates has written its own list.
    borrowNetwork(container);
  }
  return container;
}

/** Removes every container, which are gigabytes; what debootstrap made stays for the next one. */
export function removeContainers() {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).filter((one) => !/^debian-[a-z]+$/.test(one)))
    rmSync(join(folder, name), { recursive: true, force: true });
}

/** There is no mirror of Debian here. */
export class NoMirror extends BuildError {}

/** Names and certificates as on this machine, of which a builder of containers has its own. */
function borrowNetwork(container) {
  for (const path of ['etc/resolv.conf', 'etc/ssl/certs/ca-certificates.crt']) {
    if (existsSync(join('/', path))) cpSync(join('/', path), join(container, path), { dereference: true });
  }
}

/**
 * @typedef {object} Inside
 * @property {Record<string, string>} [env]
 * @property {string} [cwd]
 * @property {string} [user] numbers of user and group
 * @property {[from: string, to: string][]} [mounts] folders of this machine, and where they are inside
 * @property {boolean} [isReadOnly] whether only /tmp, which is memory then, and mounts can be written
 */

/** The command that runs a script of the shell inside a container. */
function commandOf(
  container,
  script,
  { env = {}, cwd = '/', user = '0:0', mounts = [], isReadOnly = false },
) {
  const at = (path) => quote(join(container, path));
  const lines = [
    'set -e',
    ...(isReadOnly ? [`mount --bind ${at('/')} ${at('/')}`, `mount -o remount,bind,ro ${at('/')}`] : []),
    `mount -t proc proc ${at('proc')}`,
    `mount --rbind /dev ${at('dev')}`,
    ...(isReadOnly ? [`mount -t tmpfs tmpfs ${at('tmp')}`] : []),
    ...mounts.map(([from, to]) => `mount --bind ${quote(from)} ${at(to)}`),
    `exec chroot --userspec=${user} ${at('/')} /usr/bin/env -i ${Object.entries(env)
      .map(([name, value]) => quote(`${name}=${value}`))
      .join(' ')} /bin/sh -c ${quote(`cd ${quote(cwd)} && ${script}`)}`,
  ];
  return ['unshare', ['--mount', '--propagation', 'private', 'sh', '-c', lines.join('\n')]];
}

function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Runs a script inside a container. @throws {BuildError} where it fails, with the end of its log */
export async function mustIn(name, container, script, inside = {}) {
  const [command, args] = commandOf(container, script, inside);
  return mustRun(name, command, args);
}

/** Starts a script inside a container; signals to the process reach what the script executes. */
export function startIn(container, script, inside = {}) {
  const [command, args] = commandOf(container, `exec ${script}`, inside);
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}
