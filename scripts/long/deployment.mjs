/** The suite `deployment`: the tests that want Helm and a server with the S3 interface, which Go builds. */
import { delimiter, join } from 'node:path';
import { goTool, goTools } from '../build/go-tool.mjs';
import { BuildError, mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

const TOOLS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  versitygw: 'github.com/versity/versitygw/cmd/versitygw@v1.8.0',
};
const TESTS = ['test/deploy', 'test/operations/backup-rotation', 'test/cluster/checkpoint-store'];

/** @returns {Promise<string>} what ran */
export async function checkDeployment() {
  for (const [name, source] of Object.entries(TOOLS)) {
    const { missing } = await goTool(name, source);
    if (missing !== undefined) throw new BuildError(missing);
  }
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const PATH = `${goTools}${delimiter}${process.env.PATH}`;
  await mustRun('long-deployment-tests', process.execPath, [jest, ...TESTS], { env: { PATH } });
  return `${TESTS.join(', ')} with ${Object.keys(TOOLS).join(' and ')}`;
}
