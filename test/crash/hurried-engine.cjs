'use strict';

// Gives a process an engine that does in the background with a few kilobytes what it usually does with many megabytes. With
// CRASH_POINT=NAME:COUNT the process is killed when it reaches that point for the COUNT-th time; the names are in
// crates/engine/src/storage/crash_points.rs. With PANIC_IN=TASK:TIMES the next so many runs of a background task panic.
// The fault NotHurried is planted here, those of the engine in the addon: see docs/faults.md.
const { readdirSync } = require('node:fs');
const Module = require('node:module');
const { join, sep } = require('node:path');

const native = join(__dirname, '..', '..', 'native');
const [file] = readdirSync(join(native, 'testing')).filter((name) => name.endsWith('.node'));
const addon = require(join(native, 'testing', file));
const { CRASH_POINT: crashPoint, PANIC_IN: panicIn } = process.env;
const eager = process.env.PLANTED_FAULT !== 'NotHurried';
addon.setTestSwitches({ eager, ...(crashPoint && { crashPoint }), ...(panicIn && { panicIn }) });
// What asks for the addon that is shipped gets this one.
const load = Module._load;
Module._load = (name, ...rest) =>
  name.startsWith(native + sep) && name.endsWith('.node') ? addon : load(name, ...rest);
