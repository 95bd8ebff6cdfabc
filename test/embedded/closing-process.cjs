'use strict';

// A process that closes a database whose parts close late, without anything that keeps the process alive, and then says so.
const { join } = require('node:path');
require('../require-typescript.cjs');

const { EmbeddedTransport } = require(join(__dirname, '..', '..', 'src', 'embedded', 'transport.ts'));

const late = () => new Promise((resolve) => setTimeout(resolve, 50).unref());
new EmbeddedTransport({ close: late }, { reembedder: { close: late } })
  .close()
  .then(() => console.log('closed'));
