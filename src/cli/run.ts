import { ConfigError, loadConfig, nearest, readFlags, type CommandLine, type VerbFlag } from '../config';
import { CommandError, EXIT, type Console, type ExitCode } from './console';
import { overview, verbHelp } from './help';
import { VERBS, type Verb } from './verbs';

/**
 * Runs the command that the arguments name and gives its exit code; undefined when a server listens, which ends the
 * process itself.
 */
export async function run(argv: readonly string[], console: Console): Promise<ExitCode | undefined> {
  try {
    const commandLine = readFlags(argv, verbFlags());
    const verb = findVerb(commandLine.positionals);
    if (commandLine.help) {
      console.stdout.write(commandLine.positionals.length === 0 ? overview(VERBS) : verbHelp(verb));
    } else if (commandLine.version) {
      await execute(findVerb(['version']), commandLine, console);
    } else {
      const code = await execute(verb, commandLine, console);
      return verb.name === 'serve' ? undefined : code;
    }
    return EXIT.success;
  } catch (error) {
    console.stderr.write(`${explain(error)}\n`);
    return exitCodeOf(error);
  }
}

async function execute(verb: Verb, commandLine: CommandLine, console: Console): Promise<ExitCode> {
  const problems = foreignFlags(verb, commandLine);
  if (problems.length > 0) {
    throw new ConfigError([...commandLine.problems, ...problems]);
  }
  if (verb.usesSettings) {
    const terminal = console.stderr.isTTY === true;
    const config = loadConfig({ commandLine, env: console.env, terminal });
    return (await verb.run(config, console, commandLine.flags)) ?? EXIT.success;
  }
  if (commandLine.problems.length > 0) {
    throw new ConfigError(commandLine.problems);
  }
  verb.run(console);
  return EXIT.success;
}

/** The flags of all verbs; two verbs may share one. */
function verbFlags(): readonly VerbFlag[] {
  return VERBS.flatMap(({ flags = [] }) => flags);
}

function foreignFlags(verb: Verb, { flags }: CommandLine): readonly string[] {
  const own = new Set((verb.flags ?? []).map(({ name }) => name));
  return [...flags.keys()]
    .filter((name) => !own.has(name))
    .map((name) => `kithdb ${verb.name} has no flag --${name}`);
}

function findVerb(words: readonly string[]): Verb {
  const asked = words.length === 0 ? 'serve' : words.join(' ');
  const verb = VERBS.find(({ name }) => name === asked);
  if (verb === undefined) {
    const names = VERBS.map(({ name }) => name);
    throw new CommandError(
      `Unknown verb ${asked}. Did you mean ${nearest(asked, names) ?? 'serve'}? There are: ${names.join(', ')}`,
      EXIT.usage,
    );
  }
  return verb;
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) {
    return error.exitCode;
  }
  return error instanceof ConfigError ? EXIT.usage : EXIT.failure;
}

/**
 * Errors whose message is all that an operator needs, by name: to load the classes of the server here would cost
 * every command the server's loading time.
 */
export const EXPLAINED: ReadonlySet<string> = new Set([
  'CommandError',
  'ConfigError',
  'AuthStartError',
  'BackupError',
  'ExposureError',
  'StartError',
  'StoreInUse',
  'StoreUnavailable',
]);

function explain(error: unknown): string {
  if (!(error instanceof Error)) {
    return `kithdb: ${String(error)}`;
  }
  return EXPLAINED.has(error.name)
    ? `kithdb: ${error.message.replaceAll('\n', '\n  ')}`
    : `kithdb: ${error.stack ?? error.message}`;
}
