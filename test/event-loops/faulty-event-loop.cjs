'use strict';

const { parentPort } = require('node:worker_threads');

require('../../dist/event-loop.js');
parentPort.on('message', ({ name }) => {
  if (name === 'join') {
    setTimeout(() => {
      throw new Error('nobody catches this');
    }, 50);
  }
});
