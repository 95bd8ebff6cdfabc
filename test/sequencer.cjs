'use strict';

const { relative, sep } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The files that take long, the longest first. Jest knows that of a clone in which it ran before; in a fresh one it
 * would go by the size of files, and a worker would idle at the end while the other runs a long one.
 */
const LONGEST = [
  'crash/disk-full',
  'docs/snippets',
  'operations/backup',
  'auth/catalog',
  'clients/python-client',
  'operations/closed',
  'crash/kill',
  'embedded/processes',
  'bench/load',
  'console/walk',
  'contract/mutations',
  'http/connections',
  'example/small-set',
  'contract/requests',
  'contract/endpoint-errors',
];

function rankOf({ path, context }) {
  const name = relative(`${context.config.rootDir}${sep}test`, path).replaceAll(sep, '/');
  const at = LONGEST.indexOf(name.replace(/\.test\.ts$/, ''));
  return at < 0 ? LONGEST.length : at;
}

module.exports = class extends Sequencer {
  /** These first, the others as Jest has them. */
  async sort(tests) {
    return [...(await super.sort(tests))].sort((a, b) => rankOf(a) - rankOf(b));
  }
};
