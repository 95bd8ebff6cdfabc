import {
  CREATE_FLAGS,
  createToken,
  deleteToken,
  LIST_FLAGS,
  listTokens,
  ONE_TOKEN_FLAGS,
  printNewToken,
  rotateToken,
  TOKEN_SETTINGS,
} from './token';
import type { Verb } from './verbs';

/** The commands about access tokens. */
export const TOKEN_VERBS: readonly Verb[] = [
  {
    name: 'token list',
    about: 'Lists the access tokens, without their values.',
    flags: LIST_FLAGS,
    settings: TOKEN_SETTINGS,
    usesSettings: true,
    run: listTokens,
  },
  {
    name: 'token create',
    about:
      'Makes an access token and prints its value, which is shown only this once: alone on standard output, so that a script can take it.',
    flags: CREATE_FLAGS,
    settings: TOKEN_SETTINGS,
    usesSettings: true,
    run: createToken,
  },
  {
    name: 'token rotate',
    about: 'Gives an access token another value and prints it; the old one is refused from then on.',
    flags: ONE_TOKEN_FLAGS,
    argument: 'id',
    settings: TOKEN_SETTINGS,
    usesSettings: true,
    run: rotateToken,
  },
  {
    name: 'token delete',
    about: 'Deletes an access token: it is refused from then on.',
    flags: ONE_TOKEN_FLAGS,
    argument: 'id',
    settings: TOKEN_SETTINGS,
    usesSettings: true,
    run: deleteToken,
  },
  {
    name: 'token generate',
    about:
      'Prints a new value for KITHDB_ACCESS_TOKEN, with which a first start makes its access token. No server knows it yet.',
    usesSettings: false,
    run: printNewToken,
  },
];
