import { describe, environmentName, fileKey, flagName, SETTING_KEYS, type SettingKey } from './settings';
import type { SettingGroup } from './setting';

const GROUPS: readonly SettingGroup[] = ['Server', 'Authentication', 'Cluster', 'Data', 'Logging', 'Limits'];
const WIDTH = 100;
const INDENT = '      ';

/** The settings as `--help` shows them, or some of them: each with its names, its default and what it is for. */
export function settingsHelp(only: readonly SettingKey[] = SETTING_KEYS): string {
  const groups = GROUPS.filter((group) => keysOf(group).some((key) => only.includes(key)));
  return groups
    .map((group) => {
      const keys = keysOf(group).filter((key) => only.includes(key));
      const entries = keys.map(
        (key) => `${names(key)}\n${wrapped(aboutWithDefault(key), INDENT).join('\n')}`,
      );
      return `${group}:\n${entries.join('\n')}`;
    })
    .join('\n\n');
}

/**
 * The text of a settings file with these values, by the keys of the file; every other setting stands in it as a comment
 * with its default.
 */
export function settingsFile(values: Readonly<Record<string, string | number>>): string {
  const entryOf = (key: SettingKey): string => {
    const { about, fallbackText, secret } = describe(key);
    const name = secret === true ? `${fileKey(key)}_file` : fileKey(key);
    const value = values[name];
    const line =
      value === undefined ? `# ${name}: ${describe(key).placeholder}` : `${name}: ${JSON.stringify(value)}`;
    return [...wrapped(`${about} Default: ${fallbackText}.`, '# '), line].join('\n');
  };
  const groups = GROUPS.map((group) => {
    const keys = keysOf(group).filter((key) => describe(key).notInFile !== true);
    return [`# ${group}`, ...keys.map(entryOf)].join('\n\n');
  });
  const head = '# Settings of KithDB. Flags and the environment (KITHDB_...) have precedence over this file.';
  return `${[head, ...groups].join('\n\n')}\n`;
}

function names(key: SettingKey): string {
  const { placeholder, isSwitch, secret, aliases = [] } = describe(key);
  const flag = `--${flagName(key)}`;
  const variables = [environmentName(key), ...aliases];
  if (secret === true) {
    return `  ${flag}-file FILE, ${variables.map((variable) => `${variable}[_FILE]`).join(', ')}`;
  }
  return `  ${flag}${isSwitch === true ? '' : ` ${placeholder}`}, ${variables.join(', ')}`;
}

function aboutWithDefault(key: SettingKey): string {
  const { about, fallbackText } = describe(key);
  return `${about} Default: ${fallbackText}.`;
}

/** A text as lines of limited width, each of which begins with `start`. */
export function wrapped(text: string, start: string): readonly string[] {
  const lines: string[] = [];
  let line = start;
  for (const word of text.split(' ')) {
    if (line.length + word.length + 1 > WIDTH && line !== start) {
      lines.push(line.trimEnd());
      line = start;
    }
    line += `${word} `;
  }
  lines.push(line.trimEnd());
  return lines;
}

/** `docs/configuration.md`, made from the table. */
export function settingsReference(): string {
  const groups = GROUPS.map((group) => `## ${group}\n\n${keysOf(group).map(entry).join('\n\n')}\n`);
  return [PREAMBLE, ...groups].join('\n');
}

function entry(key: SettingKey): string {
  const { about, fallbackText, placeholder, secret, notInFile, aliases = [] } = describe(key);
  const variables = [environmentName(key), ...aliases];
  const rows: string[] = [];
  if (secret === true) {
    rows.push(`- flag: \`--${flagName(key)}-file FILE\``);
    rows.push(`- environment: ${variables.map((name) => `\`${name}\`, \`${name}_FILE\``).join(', ')}`);
    rows.push(`- file: \`${fileKey(key)}\`, \`${fileKey(key)}_file\``);
  } else {
    rows.push(`- flag: \`--${flagName(key)} ${placeholder}\``);
    rows.push(`- environment: ${variables.map((name) => `\`${name}\``).join(', ')}`);
    if (notInFile !== true) {
      rows.push(`- file: \`${fileKey(key)}\``);
    }
  }
  rows.push(`- default: ${fallbackText}`);
  return `### \`${fileKey(key)}\`\n\n${about}\n\n${rows.join('\n')}`;
}

function keysOf(group: SettingGroup): readonly SettingKey[] {
  return SETTING_KEYS.filter((key) => describe(key).group === group);
}

const PREAMBLE = `# Configuration

<!-- Generated from src/config/settings.ts: node bin/kithdb.js help configuration > docs/configuration.md -->

Each setting is a flag of \`kithdb serve\`, an environment variable and a key of an optional YAML file (\`--config\`). A flag
beats the environment, and the environment beats the file. A name that is no setting, or a bad value, is an error at
start that says what is right. Relative paths start from the folder in which the command runs. \`npm start\` runs it in the
folder of the package; paths in its flags start from where npm was called.

A switch needs no value as a flag (\`--insecure-no-auth\`); elsewhere it is \`true\` or \`false\`. Secrets are never flags: a
command line is visible to every user of the machine. Each has a second form that names a file holding it, less one
newline at its end. Giving a secret twice with different values is an error. Files of secrets and certificates are read by
the commands that use them; that of an admin password may be gone once there is an admin.

In Kubernetes, a service named \`kithdb\`, or whose name begins so, makes the cluster inject variables such as
\`KITHDB_SERVICE_HOST\`, \`KITHDB_PORT=tcp://…\` and \`KITHDB_HEADLESS_PORT_6363_TCP_ADDR\` into pods: these are ignored.
`;
