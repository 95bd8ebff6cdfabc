import type * as ExpressValidator from 'express-validator';

let loaded: Promise<typeof ExpressValidator> | undefined;

/**
 * The library that checks fields of bodies and queries. It is loaded for the first request that needs it, because a start
 * would take longer, and an idle server more memory, with it and its dependencies.
 */
export function validator(): Promise<typeof ExpressValidator> {
  return (loaded ??= import('express-validator'));
}
