/** The floor of the Node versions that KithDB runs on, as `package.json` states it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError } from './process.mjs';
import { root } from './tree.mjs';

/** @throws {BuildError} when this Node is too old */
export function requireNode() {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [major, minor] = engines.node.replace('>=', '').split('.').map(Number);
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);
  if (ownMajor < major || (ownMajor === major && ownMinor < minor)) {
    throw new BuildError(
      `KithDB needs Node ${major}.${minor} or newer and this is ${process.version}: https://nodejs.org`,
    );
  }
}
