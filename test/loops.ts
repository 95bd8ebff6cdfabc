import { join } from 'node:path';
import type { LoopParts } from '../src/startup/loops';

/** What servers in the process of a test have, unless the test says otherwise: one event loop, or as many as TEST_EVENT_LOOPS says. */
export const TEST_EVENT_LOOPS = { KITHDB_EVENT_LOOPS: process.env['TEST_EVENT_LOOPS'] ?? '1' };

/** What a server in the process of a test starts further event loops with: the file that `npm run build` makes. */
export const LOOP_THREAD: LoopParts = {
  thread: { file: join(__dirname, '..', 'dist', 'event-loop.js'), execArgv: [] },
};
