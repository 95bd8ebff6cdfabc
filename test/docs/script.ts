import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(__dirname, '..', '..');

/** What an expression over the exports (`script`) of an ES module of the repository is; jest cannot load one. */
export function inScript(path: string, expression: string): unknown {
  const url = pathToFileURL(join(root, ...path.split('/'))).href;
  const program = `
    import { createRequire } from 'node:module';
    import * as script from '${url}';
    const require = createRequire('${url}');
    console.log(JSON.stringify(${expression}));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    maxBuffer: 16 * 2 ** 20,
  });
  return JSON.parse(printed);
}
