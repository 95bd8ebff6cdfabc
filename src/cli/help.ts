import { settingsHelp, wrapped, type VerbFlag } from '../config';
import type { Verb } from './verbs';

/** The verb that takes all settings. */
const SERVER = 'serve';

/** What `kithdb help` prints. */
export function overview(verbs: readonly Verb[]): string {
  return [
    'KithDB: a vector database service.',
    '',
    'Usage: kithdb [verb] [settings]',
    '',
    ...verbLines(verbs),
    '',
    'kithdb <verb> --help says more, and lists flags and settings. Without a verb it serves.',
    ALL_EXIT_CODES,
    '',
  ].join('\n');
}

/** What `kithdb token --help` prints: the verbs that begin with a word that is none itself. */
export function groupHelp(name: string, verbs: readonly Verb[]): string {
  return [
    `Usage: kithdb ${name} <verb> [flags]`,
    '',
    ...verbLines(verbs),
    '',
    `kithdb ${name} <verb> --help says more, and lists flags and settings.`,
    EXIT_CODES,
    '',
  ].join('\n');
}

function verbLines(verbs: readonly Verb[]): readonly string[] {
  const width = Math.max(...verbs.map(({ name }) => name.length));
  return verbs.map(({ name, about }) => `  kithdb ${name.padEnd(width)}  ${firstSentence(about)}`);
}

/** The first sentence of a description, without its full stop. */
export function firstSentence(about: string): string {
  return about.split(/[.:;](?: |$)/, 1)[0] ?? '';
}

/** How a verb is called, with the word behind it where it takes one. */
export function usageOf({ name, flags = [], argument, usesSettings }: Verb): string {
  const word = flags.find((flag) => flag.name === argument)?.placeholder;
  return `kithdb ${name}${word === undefined ? '' : ` [${word}]`}${usesSettings ? ' [flags]' : ''}`;
}

/** What `kithdb <verb> --help` prints. */
export function verbHelp(verb: Verb): string {
  const { name, about, usesSettings, flags = [], settings: keys, exitCodes } = verb;
  const head = [
    ...wrapped(`kithdb ${name}: ${about}`, ''),
    '',
    `Usage: ${usageOf(verb)}`,
    '',
    ...flags.map(flagHelp),
  ];
  const isOfServer = keys === undefined && name !== SERVER;
  const settings = [
    'A flag beats the environment, which beats the file of --config.',
    '',
    isOfServer
      ? `It takes all settings of a server: kithdb ${SERVER} --help lists them.`
      : settingsHelp(keys),
    '',
  ];
  return [...head, ...(usesSettings ? settings : []), exitCodes ?? EXIT_CODES, ''].join('\n');
}

function flagHelp({ name, placeholder, about }: VerbFlag): string {
  const flag = `  --${name}${placeholder === undefined ? '' : ` ${placeholder}`}`;
  return [flag, ...wrapped(about, '      '), ''].join('\n');
}

/** The exit codes of all verbs. */
const ALL_EXIT_CODES =
  'Exit codes: 0 success, 1 failure, 2 wrong arguments or settings, 3 (of some verbs) done, with reservations that are named.';

/** The meaning of exit codes, where a verb does not say otherwise. */
export const EXIT_CODES = 'Exit codes: 0 success, 1 failure, 2 wrong arguments or settings.';
