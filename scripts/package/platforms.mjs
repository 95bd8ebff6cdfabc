/** The platforms of engine packages, from the targets in package.json, and which of them this machine is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../build/tree.mjs';

/** The oldest glibc on which the Linux engines load: that of Rust's own standard library. */
export const GLIBC_FLOOR = [2, 17];

/** The largest page of a Linux kernel, by machine: a segment must be aligned to it to be mapped there. */
export const LARGEST_PAGE_BYTES = { x64: 4 * 1024, arm64: 64 * 1024 };

const CPUS = { x86_64: 'x64', aarch64: 'arm64' };
const SYSTEMS = { linux: 'linux', darwin: 'darwin', windows: 'win32' };

/**
 * @typedef {object} Platform
 * @property {string} name as in the package's name: linux-x64-gnu
 * @property {string} triple as Rust calls it
 * @property {string} system as Node calls it
 * @property {string} cpu as Node calls it
 * @property {string} [libc] of Linux: gnu or musl
 */

const tree = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** @type {Platform[]} */
export const platforms = tree.napi.targets.map((triple) => {
  const [cpu, , system, abi] = triple.split('-');
  const [node, arch] = [SYSTEMS[system], CPUS[cpu]];
  const name = [node, arch, ...(abi === undefined ? [] : [abi])].join('-');
  return { name, triple, system: node, cpu: arch, ...(node === 'linux' ? { libc: abi } : {}) };
});

/** The platform of the Node that runs this, or undefined where there is no package for it. */
export function ownPlatform() {
  const libc = process.platform === 'linux' ? (hasGlibc() ? 'gnu' : 'musl') : undefined;
  return platforms.find(
    (platform) =>
      platform.system === process.platform && platform.cpu === process.arch && platform.libc === libc,
  );
}

function hasGlibc() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime !== undefined;
}

/** What an addon of a platform is called. */
export function addonOf({ name }) {
  return `${tree.napi.binaryName}.${name}.node`;
}

/** What the package of a platform's engine is called. */
export function packageOf({ name }) {
  return `${tree.napi.packageName}-${name}`;
}
