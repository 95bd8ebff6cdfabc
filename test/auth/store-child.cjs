'use strict';

// Opens a store in a process of its own, writes to it, says so and stays until it is killed:
// node store-child.cjs FOLDER KIND
const { join } = require('node:path');
require('../require-typescript.cjs');

const { openStore } = require(join(__dirname, '..', '..', 'src', 'auth', 'store', 'open.ts'));

async function main([folder, kind]) {
  const store = await openStore(folder, kind);
  for (let written = 1; ; written++) {
    await store.storeSetting('jwt_secret', String(written));
    process.stdout.write(`${written}\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
