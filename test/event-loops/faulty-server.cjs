'use strict';

// The real server, of which a further event loop throws an error that nothing catches once it has joined the engine.
const Module = require('node:module');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');

const thread = join(__dirname, 'faulty-event-loop.cjs');
const load = Module._load;
Module._load = (name, ...rest) => {
  const loaded = load(name, ...rest);
  if (name !== 'node:worker_threads') return loaded;
  return {
    ...loaded,
    Worker: class extends Worker {
      constructor(file, options) {
        super(file.endsWith('event-loop.js') ? thread : file, options);
      }
    },
  };
};
require('../../dist/main.js').main(process.argv.slice(2));
