/** The suite `cluster`: the tests of nodes together and of the replicated log, over servers of NATS, which Go builds. */
import { join } from 'node:path';
import { goTool } from '../build/go-tool.mjs';
import { BuildError, mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

/** The program of the log servers, as Go names it. */
export const LOG_SERVER = 'github.com/nats-io/nats-server/v2@v2.15.2';
const TESTS = ['test/cluster'];

/** @returns {Promise<string>} what ran */
export async function checkCluster() {
  const { path, missing } = await goTool('nats-server', LOG_SERVER);
  if (missing !== undefined) throw new BuildError(missing);
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const env = { KITHDB_NATS_SERVER: path };
  await mustRun('long-cluster-tests', process.execPath, [jest, ...TESTS], { env });
  return `${TESTS.join(', ')} with ${LOG_SERVER}`;
}
