'use strict';

// The real server, whose engine does in the background with a few kilobytes what it usually does with many megabytes:
// checkpoints, graphs, vacuums and cut logs happen within the fraction of a second that a server of these tests lives.
require('./hurried-engine.cjs');
require('../../dist/main.js').main(process.argv.slice(2));
