'use strict';

// The real server, whose engine does in the background with a few kilobytes what it usually does with many megabytes:
// checkpoints, graphs, vacuums and cut logs happen within the fraction of a second that a server of these tests lives.
// With CRASH_POINT=NAME:COUNT it is killed when it reaches that point for the COUNT-th time; the names are in
// crates/engine/src/storage/crash_points.rs.
const { join } = require('node:path');
const load = require('../../dist/engine/load.js');

const addon = load.loadBinding(join(__dirname, '..', '..', 'native', 'testing'));
const crashPoint = process.env.CRASH_POINT;
addon.setTestSwitches({ eager: true, ...(crashPoint && { crashPoint }) });
load.loadBinding = () => addon;
require('../../dist/main.js').main(process.argv.slice(2));
