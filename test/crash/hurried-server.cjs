'use strict';

// The real server, whose engine does in the background with a few kilobytes what it usually does with many megabytes:
// checkpoints, graphs, vacuums and cut logs happen within the fraction of a second that a server of these tests lives.
const load = require('../../dist/engine/load.js');
const loaded = load.loadBinding();

class HurriedEngine extends loaded.NativeEngine {
  open(call, options) {
    super.open(call, { ...options, hurriedForTests: true });
  }
}

load.loadBinding = () => ({ ...loaded, NativeEngine: HurriedEngine });
require('../../dist/main.js').main(process.argv.slice(2));
