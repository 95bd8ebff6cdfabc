#!/usr/bin/env node
'use strict';

// Starts dist/main.js, which needs a Node.js that can load it, and says so where it cannot.
const OLDEST = [20, 19];
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  console.error('kithdb: needs Node.js ' + OLDEST.join('.') + ' or newer, this is ' + process.versions.node);
  process.exit(1);
}

// Two password hashes may run at once; SQLite and files must not wait for them. Read when the pool starts.
process.env.UV_THREADPOOL_SIZE ??= '6';

require('../dist/main.js').main(process.argv.slice(2));
