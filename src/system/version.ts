import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of this package, from its `package.json`, which lies one folder above both `src` and `dist`. */
export function productVersion(): string {
  const text = readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
