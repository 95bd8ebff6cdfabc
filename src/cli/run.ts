import {
  ConfigError,
  flagNames,
  flagName,
  loadConfig,
  readFlags,
  suggestion,
  type CommandLine,
  type SettingKey,
  type VerbFlag,
} from '../config';
import { CommandError, EXIT, type Console, type ExitCode } from './console';
import { groupHelp, overview, verbHelp } from './help';
import { printable } from './table';
import { VERBS, type Verb } from './verbs';

/** Carries a command out and gives its exit code; undefined when a server listens. */
type Action = () => Promise<ExitCode | undefined>;

/**
 * Runs the command that the arguments name and gives its exit code; undefined when a server listens, which ends the
 * process itself.
 */
export async function run(argv: readonly string[], console: Console): Promise<ExitCode | undefined> {
  try {
    const asked = understand(argv, console);
    return typeof asked === 'function' ? await asked() : asked;
  } catch (error) {
    return refuse(error, console);
  }
}

/**
 * Answers what needs no more than the arguments and settings: help, and the refusal of wrong ones. Undefined where there
 * is something to carry out, which is not begun.
 */
export function answerAhead(argv: readonly string[], console: Console): ExitCode | undefined {
  try {
    const asked = understand(argv, console);
    return typeof asked === 'function' ? undefined : asked;
  } catch (error) {
    return refuse(error, console);
  }
}

/**
 * The exit code of what is answered at once, or what is to be carried out.
 * @throws CommandError or ConfigError for wrong arguments and settings.
 */
function understand(argv: readonly string[], console: Console): ExitCode | Action {
  const { positionals: words, help } = readFlags(argv, verbFlags());
  // `kithdb help check` is `kithdb check --help`.
  const isAbout = words[0] === 'help' && words.length > 1 && !findExactly(words);
  const asked = isAbout ? words.slice(1) : words;
  const group = groupOf(asked);
  if (group.length > 0) {
    return showGroup(asked.join(' '), group, isAbout || help, console);
  }
  const { verb, argument } = findVerb(asked);
  // Two verbs may have a flag of one name: what its value is called is said by this one.
  const commandLine = withArgument(readFlags(argv, [...verbFlags(), ...(verb.flags ?? [])]), verb, argument);
  if (commandLine.help || isAbout) {
    console.stdout.write(words.length === 0 ? overview(VERBS) : verbHelp(verb));
    return EXIT.success;
  }
  return actionOf(commandLine.version ? findVerb(['version']).verb : verb, commandLine, console);
}

function refuse(error: unknown, console: Console): ExitCode {
  console.stderr.write(`${explain(error)}\n`);
  return exitCodeOf(error);
}

/** Answers words that only begin verbs: with what there is behind them, which is no success unless it was asked for. */
function showGroup(name: string, verbs: readonly Verb[], isAsked: boolean, console: Console): ExitCode {
  if (isAsked) {
    console.stdout.write(groupHelp(name, verbs));
    return EXIT.success;
  }
  console.stderr.write(`kithdb: kithdb ${name} needs one of its verbs\n\n${groupHelp(name, verbs)}`);
  return EXIT.usage;
}

/** @throws ConfigError for wrong flags and settings. */
function actionOf(verb: Verb, commandLine: CommandLine, console: Console): Action {
  const problems = [...foreignFlags(verb, commandLine), ...commandLine.problems];
  if (verb.usesSettings) {
    const terminal = console.stderr.isTTY === true;
    const config = loadConfig({
      commandLine: { ...commandLine, problems },
      env: console.env,
      terminal,
      only: settingsOf(verb, commandLine),
    });
    return async () => {
      const code = await verb.run(config, console, commandLine.flags);
      return verb.name === 'serve' ? undefined : (code ?? EXIT.success);
    };
  }
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }
  return () => {
    verb.run(console);
    return Promise.resolve(EXIT.success);
  };
}

/** The settings that a verb uses. A server has models of its own, so those of this machine need not be sound. */
function settingsOf({ settings }: Verb, { flags }: CommandLine): readonly SettingKey[] | undefined {
  return flags.has('url') ? settings?.filter((key) => key !== 'models') : settings;
}

/** The flags of all verbs; two verbs may share one. */
function verbFlags(): readonly VerbFlag[] {
  return VERBS.flatMap(({ flags = [] }) => flags);
}

/** Flags that the verb does not have, one sentence each. */
function foreignFlags(verb: Verb, { flags, unknownFlags }: CommandLine): readonly string[] {
  const own = (verb.flags ?? []).map(({ name }) => name);
  const ofOthers = [...flags.keys()]
    .filter((name) => !own.includes(name))
    .map((name) => {
      const owners = VERBS.filter(({ flags: theirs = [] }) => theirs.some((flag) => flag.name === name));
      const those = owners.map((owner) => `kithdb ${owner.name}`).join(' and ');
      return `kithdb ${verb.name} has no flag --${name}: it is one of ${those}`;
    });
  const settings = verb.usesSettings ? (verb.settings?.map(flagName) ?? [...flagNames().keys()]) : [];
  const candidates = [...own, ...settings, 'help', 'version'];
  const unknown = unknownFlags.map((flag) => {
    const meant = suggestion(flag.replace(/^-+/, ''), candidates);
    const hint =
      meant === undefined ? `kithdb ${verb.name} --help lists its flags` : `Did you mean --${meant}?`;
    return `Unknown flag ${flag}. ${hint}`;
  });
  return [...unknown, ...ofOthers];
}

/** A verb, and the word behind it that stands for one of its flags. */
interface Asked {
  readonly verb: Verb;
  readonly argument?: string | undefined;
}

function findExactly(words: readonly string[]): Verb | undefined {
  return VERBS.find(({ name }) => name === words.join(' '));
}

/** The verbs that words begin without being one, such as those of `token`. */
function groupOf(words: readonly string[]): readonly Verb[] {
  return words.length === 0 || findExactly(words) !== undefined
    ? []
    : VERBS.filter(({ name }) => name.startsWith(`${words.join(' ')} `));
}

/** @throws CommandError where there is no such verb, or it takes no such word. */
function findVerb(words: readonly string[]): Asked {
  const whole = findExactly(words.length === 0 ? ['serve'] : words);
  if (whole !== undefined) {
    return { verb: whole };
  }
  const asked = words.join(' ');
  // Of `token` and `token list` the longer one is meant.
  const [begun] = VERBS.filter(({ name }) => asked.startsWith(`${name} `)).sort(
    (one, other) => other.name.length - one.name.length,
  );
  if (begun === undefined) {
    const group = groupOf(words.slice(0, 1));
    const names = (group.length > 0 ? group : VERBS).map(({ name }) => name);
    const begins = VERBS.map(({ name }) => name.split(' ')[0] ?? '');
    const meant = suggestion(asked, [...names, ...new Set(begins)]);
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    // The verbs of a group are few; all verbs are listed, each with what it does, by the help.
    const others = group.length > 0 ? `There are: ${names.join(', ')}` : 'kithdb help lists the verbs';
    throw new CommandError(`Unknown verb ${asked}.${hint} ${others}`, EXIT.usage);
  }
  const rest = words.slice(begun.name.split(' ').length);
  if (begun.argument === undefined || rest.length > 1) {
    const surplus = begun.argument === undefined ? rest : rest.slice(1);
    throw new CommandError(
      `kithdb ${begun.name} takes no argument ${surplus.join(' ')}: ${begun.alone ?? `kithdb ${begun.name} --help lists its flags`}`,
      EXIT.usage,
    );
  }
  return { verb: begun, argument: rest[0] };
}

/** The word behind a verb as the flag that it stands for. */
function withArgument(commandLine: CommandLine, verb: Verb, word: string | undefined): CommandLine {
  if (word === undefined || verb.argument === undefined) {
    return commandLine;
  }
  const { flags, problems } = commandLine;
  const given = flags.get(verb.argument);
  return given !== undefined && given !== word
    ? { ...commandLine, problems: [...problems, `${word} and --${verb.argument} say the same: give one`] }
    : { ...commandLine, flags: new Map([...flags, [verb.argument, word]]) };
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) {
    return error.exitCode;
  }
  return error instanceof ConfigError ? EXIT.usage : EXIT.failure;
}

/**
 * The names of errors whose message is enough for an operator. Names and not classes: importing the classes would load
 * the server for every command.
 */
export const EXPLAINED: ReadonlySet<string> = new Set([
  'CommandError',
  'ConfigError',
  'AuthStartError',
  'BackupError',
  'ExposureError',
  'StartError',
  'StoreDamaged',
  'StoreInUse',
  'StoreOfCluster',
  'StoreUnavailable',
]);

function explain(error: unknown): string {
  if (!(error instanceof Error)) {
    return `kithdb: ${String(error)}`;
  }
  return EXPLAINED.has(error.name)
    ? `kithdb: ${error.message.split('\n').map(printable).join('\n  ')}`
    : `kithdb: ${error.stack ?? error.message}`;
}
