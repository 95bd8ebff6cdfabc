import { flagName, type SettingKey } from '../config';
import { EXIT_CODES, usageOf } from './help';
import type { Verb } from './verbs';

/** `docs/cli.md`, made from the table of verbs. */
export function commandReference(verbs: readonly Verb[]): string {
  const list = verbs.map(({ name }) => `- [\`kithdb ${name}\`](#${anchor(name)})`).join('\n');
  return [PREAMBLE, '## All commands\n', `${list}\n`, ...verbs.map(section), DESIGN].join('\n');
}

/** The anchor that Markdown gives the heading of a verb. */
function anchor(name: string): string {
  return `kithdb-${name.replaceAll(' ', '-')}`;
}

function section(verb: Verb): string {
  const { name, about, flags = [], usesSettings, settings, exitCodes } = verb;
  const own = flags.map(
    (flag) =>
      `- \`--${flag.name}${flag.placeholder === undefined ? '' : ` ${flag.placeholder}`}\`: ${flag.about}`,
  );
  const parts = [
    `## \`kithdb ${name}\``,
    about,
    `\`\`\`text\n${usageOf(verb)}\n\`\`\``,
    ...(own.length === 0 ? [] : [own.join('\n')]),
    ...(usesSettings ? [settingsLine(settings)] : []),
    ...(exitCodes === undefined ? [] : [exitCodes]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function settingsLine(settings: readonly SettingKey[] | undefined): string {
  if (settings === undefined) {
    return 'Settings: all of [configuration.md](configuration.md).';
  }
  const names = settings.map(
    (key) => `[\`${flagName(key)}\`](configuration.md#${flagName(key).replaceAll('-', '_')})`,
  );
  return `Settings: ${names.join(', ')}.`;
}

const PREAMBLE = `# Command line

<!-- Generated from src/cli/verbs.ts: node bin/kithdb.js help commands > docs/cli.md -->

One command, \`kithdb\`, serves and does everything else. Without a verb it serves. \`kithdb VERB --help\` says the same as this page, and \`source <(kithdb completion bash)\` (or \`zsh\`) or \`kithdb completion fish | source\` completes verbs and flags.

## Rules

- **Where it works.** \`import\`, \`export\`, \`migrate\`, \`collections\`, \`query\`, \`reembed\`, \`token\`, \`mcp\` and \`bench\` speak REST with \`--url\`. Without it they open the data directory of \`--data-dir\`, alone or beside the process that has it open ([embedding.md](embedding.md)). Whoever may open the directory is its owner: no credential is asked for.
- **Credentials.** With \`--url\` the access token is \`KITHDB_TOKEN\`, or in the file of \`KITHDB_TOKEN_FILE\`. No secret is ever a flag. \`kithdb token\` also takes the admin password, and sends it to another machine over https only.
- **Settings.** A flag beats the environment, which beats the file of \`--config\`. An unknown flag or variable is an error that names the nearest one.
- **Output.** Results go to standard output, everything else to standard error. On a terminal tables are cut to its width, and a line of progress is shown; in a pipe there are neither colours, nor control characters, nor progress. Texts from the data cannot control the terminal. \`--json\` prints one JSON document. \`serve\` logs to standard error: in colours on a terminal only, and never with \`NO_COLOR\`.
- **Exit codes.** ${EXIT_CODES.replace('Exit codes: ', '').replace(/\.$/, '')}, 3 done with reservations. Where a command differs, or has a 3, its section says what they mean. \`serve\` ends with 0 after SIGTERM or SIGINT.
- **Words and flags.** Some commands take a word behind the verb in place of a flag: \`kithdb query notes\` is \`kithdb query --collection notes\`.
`;

const DESIGN = `## Why it is built this way

Verbs, flags, help, completions and this page come from one table (\`src/cli/verbs.ts\`), settings from another (\`src/config/settings.ts\`). A verb works on collections through the transport of the client, which is HTTP or the engine of the folder, so there is one code for both. \`kithdb bench\` shares the machine with what it measures; [performance.md](performance.md) has figures of real data.

Rejected:

- A password for \`kithdb token\` in the folder: whoever can open the folder can replace the store of authentication.
- A token on the command line: every user of the machine sees it.
- \`kithdb init\` that makes an admin: a first start needs none, and its password would be one more secret to keep.
- \`kithdb init\` that asks questions: a script cannot answer them, and the settings file explains itself.
- A \`doctor\` that changes settings of the machine: it says the command, and the operator decides.
- Colours: what they would say is in words, and a pipe, a log and a screen reader get the same text.
- Tables that are cut in a pipe: \`grep\` would not find what is cut off.
`;
