'use strict';

// The real server, whose engine does in the background with a few kilobytes what it usually does with many megabytes:
// checkpoints, graphs, vacuums and cut logs happen within the fraction of a second that a server of these tests lives.
// With CRASH_POINT=NAME:COUNT it is killed when it reaches that point for the COUNT-th time; the names are in
// crates/engine/src/storage/crash_points.rs. With PANIC_IN=TASK:TIMES the next so many runs of a background task panic.
// The fault NotHurried is planted here, those of the engine in the addon: see docs/faults.md.
const { join } = require('node:path');
const load = require('../../dist/engine/load.js');

const addon = load.loadBinding({ native: join(__dirname, '..', '..', 'native', 'testing') });
const { CRASH_POINT: crashPoint, PANIC_IN: panicIn } = process.env;
const eager = process.env.PLANTED_FAULT !== 'NotHurried';
addon.setTestSwitches({ eager, ...(crashPoint && { crashPoint }), ...(panicIn && { panicIn }) });
load.loadBinding = () => addon;
require('../../dist/main.js').main(process.argv.slice(2));
