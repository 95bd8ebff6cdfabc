/** All scenarios by name; the numbers are those of the table in docs/attacks.md. */
import { memory } from './memory.mjs';
import { neighbour, overload } from './overload.mjs';
import { expensiveReads, largeAnswers, silentConnections, slowBodies } from './reads.mjs';
import { scrapers } from './scrapers.mjs';
import { stop } from './stop.mjs';
import { heavyBatches, writesBetween } from './writes.mjs';

/** @type {Record<string, import('../session.mjs').Scenario>} */
export const SCENARIOS = {
  'attack-1': expensiveReads,
  'attack-2': slowBodies,
  'attack-6': largeAnswers,
  'attack-8': silentConnections,
  'attack-18': heavyBatches,
  'attack-19': writesBetween,
  'attack-24': scrapers,
  overload,
  neighbour,
  memory,
  stop,
};
