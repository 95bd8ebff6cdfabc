/**
 * A server in a process of its own, for the tests of signals and exits: compiles TypeScript as it is loaded, and puts
 * the fake engine in place of the native one. With `--throw` it throws an uncaught error once it is ready;
 * with `--hang` the engine never answers a search, and with `--patient` a stop waits two minutes for it. The port is sent to
 * a parent process with an IPC channel.
 */
require('../require-typescript.cjs');

const { loadConfig, readFlags } = require('../../src/config/index.ts');
const { startServer } = require('../../src/server.ts');
const { FakeEngine } = require('./fake-engine.ts');

const OWN_FLAGS = ['--throw', '--hang', '--patient'];
const flags = process.argv.slice(2).filter((flag) => !OWN_FLAGS.includes(flag));
const config = loadConfig({ commandLine: readFlags(flags), env: process.env, terminal: false });
const engine = new FakeEngine();
if (process.argv.includes('--hang')) {
  engine.gate = new Promise(() => undefined);
}
const graceMs = process.argv.includes('--patient') ? 120_000 : 300;
startServer(config, { openEngine: () => engine, graceMs }).then(
  async (server) => {
    await server.ready;
    process.send?.(server.port, () => process.disconnect());
    if (process.argv.includes('--throw')) {
      throw new Error('nobody catches this');
    }
  },
  (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  },
);
