'use strict';

// Opens the store of a folder, makes one change and says so: node store-change-child.cjs FOLDER CHANGE
const { join } = require('node:path');
require('../require-typescript.cjs');

const { openStore } = require(join(__dirname, '..', '..', 'src', 'auth', 'store', 'open.ts'));
const { CHANGES } = require(join(__dirname, 'store-history.ts'));

async function main([folder, change]) {
  const store = await openStore(folder, 'sqlite3');
  process.stdout.write('open\n');
  if (change !== 'none') {
    await CHANGES[change](store);
    process.stdout.write('changed\n');
  }
  await store.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
