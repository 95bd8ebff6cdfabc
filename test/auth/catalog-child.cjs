'use strict';

// Opens engine and store of a folder as a server does, makes one change and says so: node catalog-child.cjs FOLDER CHANGE
const { join } = require('node:path');
const pino = require('pino');
require('../require-typescript.cjs');

const src = join(__dirname, '..', '..', 'src');
const { ServedCatalog } = require(join(src, 'auth', 'store', 'catalog.ts'));
const { openStore } = require(join(src, 'auth', 'store', 'open.ts'));
const { openNativeEngine } = require(join(src, 'engine', 'index.ts'));
const { CHANGES } = require(join(__dirname, 'store-history.ts'));

async function main([folder, change]) {
  const catalog = new ServedCatalog(folder, pino({ level: 'silent' }));
  const store = await openStore(folder, 'sqlite3', { catalog });
  const engine = openNativeEngine({ dataDir: folder });
  await engine.open();
  catalog.useEngine(engine);
  await store.compare();
  process.stdout.write('ready\n');
  await CHANGES[change](store);
  process.stdout.write('changed\n');
  await engine.close();
  await store.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
