import { settingsHelp, type VerbFlag } from '../config';
import type { Verb } from './verbs';

/** What `kithdb help` prints. */
export function overview(verbs: readonly Verb[]): string {
  const width = Math.max(...verbs.map(({ name }) => name.length));
  const lines = verbs.map(({ name, about }) => `  kithdb ${name.padEnd(width)}  ${about}`);
  return [
    'KithDB: a vector database service.',
    '',
    'Usage: kithdb [verb] [settings]',
    '',
    ...lines,
    '',
    'kithdb <verb> --help lists the settings of a verb. Without a verb it serves.',
    EXIT_CODES,
    '',
  ].join('\n');
}

/** What `kithdb <verb> --help` prints. */
export function verbHelp({ name, about, usesSettings, flags = [], settings: keys, exitCodes }: Verb): string {
  const head = [`kithdb ${name}: ${about}`, '', ...flags.map(flagHelp)];
  const settings = [
    'A flag beats the environment, which beats the file of --config.',
    '',
    settingsHelp(keys),
    '',
  ];
  return [...head, ...(usesSettings ? settings : []), exitCodes ?? EXIT_CODES, ''].join('\n');
}

function flagHelp({ name, placeholder, about }: VerbFlag): string {
  return `  --${name}${placeholder === undefined ? '' : ` ${placeholder}`}\n      ${about}\n`;
}

/** The meaning of exit codes, where a verb does not say otherwise. */
export const EXIT_CODES = 'Exit codes: 0 success, 1 failure, 2 wrong arguments or settings.';
