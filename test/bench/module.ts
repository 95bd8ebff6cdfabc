import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Runs some lines with the exports of a benchmark's module in scope as `m`, in a process of its own: they are ES
 * modules, which Jest does not load. Answers what the lines return, by way of JSON.
 */
export function inModule(path: string, lines: string): unknown {
  const url = pathToFileURL(join(__dirname, '..', '..', 'bench', path)).href;
  const script = `import * as m from ${JSON.stringify(url)};
    const result = (() => { try { ${lines} } catch (error) { return { error: error.message }; } })();
    process.stdout.write(JSON.stringify(result));`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as unknown;
}
