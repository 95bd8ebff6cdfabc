'use strict';

// The server of this tree, with an engine that answers every search at once.
const { join } = require('node:path');

const compiled = join(__dirname, '..', '..', '.build', 'compiled');
const { loadConfig, readFlags } = require(join(compiled, 'config'));
const { openNativeEngine } = require(join(compiled, 'engine'));
const { startServer } = require(join(compiled, 'server.js'));
const { instant } = require('./instant-engine.cjs');

const config = loadConfig({
  commandLine: readFlags(process.argv.slice(2)),
  env: process.env,
  terminal: false,
});
void startServer(config, {
  openEngine: (options) => instant(openNativeEngine(options)),
  loops: { engineModule: join(__dirname, 'instant-engine.cjs') },
});
