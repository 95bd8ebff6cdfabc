import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlainRoute } from '../http/route-table';
import { packageFolder } from './package-folder';

/** Written by the build from `openapi/openapi.yaml`. */
const FILE = join(packageFolder(), 'dist', 'openapi.json');

/**
 * `GET /openapi.json`: the description of this interface, without credentials (C3.16) and in every state. Tools that
 * read it know nothing of the service yet, and it says nothing that the published source does not.
 */
export function descriptionRoute(): PlainRoute {
  let text: Buffer | undefined;
  return {
    kind: 'plain',
    method: 'GET',
    path: '/openapi.json',
    permission: 'none',
    answer: (exchange) => {
      // Read at the first request: most servers never get one.
      text ??= readFileSync(FILE);
      exchange.send(200, text);
    },
  };
}
