import { settingsReference, type Config } from '../config';
import { productVersion } from '../system/version';
import type { Console } from './console';
import { overview } from './help';
import { resetPassword } from './reset-password';
import { serve } from './serve';

/** One command. */
export type Verb = {
  /** One or more words. */
  readonly name: string;
  readonly about: string;
} & (
  | { readonly usesSettings: true; readonly run: (config: Config, console: Console) => Promise<void> }
  | { readonly usesSettings: false; readonly run: (console: Console) => void }
);

/** Every command, the default one first. */
export const VERBS: readonly Verb[] = [
  {
    name: 'serve',
    about: 'Serves the data directory over HTTP (the default).',
    usesSettings: true,
    run: serve,
  },
  {
    name: 'admin reset-password',
    about:
      'Sets a new admin password while the server is stopped; from KITHDB_ADMIN_PASSWORD[_FILE], the terminal or standard input.',
    usesSettings: true,
    run: resetPassword,
  },
  {
    name: 'help',
    about: 'Shows this.',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(overview(VERBS));
    },
  },
  {
    name: 'help configuration',
    about: 'Prints the reference of all settings as Markdown.',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(settingsReference());
    },
  },
  {
    name: 'version',
    about: 'Prints the version.',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(`${productVersion()}\n`);
    },
  },
];
