import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isMap, isScalar, parseDocument } from 'yaml';
import { isNear, nearest } from './nearest';
import { describe, environmentName, fileKey, flagName, SETTING_KEYS, type SettingKey } from './settings';
import type { RawValue } from './setting';

/** A value that a source gives, before it is understood. */
export interface Given {
  /** How messages call the place: `--port`, `KITHDB_PORT`, `port in kithdb.yaml`. */
  readonly origin: string;
  readonly raw: RawValue;
  /** The value is the path of a file that holds the secret. */
  readonly isSecretFile: boolean;
}

/** What one source gives for each setting; a secret may be given more than once under its several names. */
export type Source = ReadonlyMap<SettingKey, readonly Given[]>;

/** A flag that is no setting: it belongs to the verbs that name it. */
export interface VerbFlag {
  /** Without its dashes. */
  readonly name: string;
  /** What its value looks like; a flag without one is a switch. */
  readonly placeholder?: string;
  /** One or two sentences without a line break. */
  readonly about: string;
}

/** What the command line holds besides settings. */
export interface CommandLine {
  readonly settings: Source;
  readonly positionals: readonly string[];
  /** Flags of verbs, each with its value; true for a switch. */
  readonly flags: ReadonlyMap<string, string | true>;
  readonly help: boolean;
  readonly version: boolean;
  /** Flags that no verb has and that are no settings, with their dashes. */
  readonly unknownFlags: readonly string[];
  readonly problems: readonly string[];
}

interface Name {
  readonly key: SettingKey;
  readonly isSecretFile: boolean;
}

/** Reads flags, those of verbs included; everything that is none is a positional argument. */
export function readFlags(argv: readonly string[], verbFlags: readonly VerbFlag[] = []): CommandLine {
  const names = flagNames();
  const ofVerbs = new Map(verbFlags.map((flag) => [flag.name, flag]));
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean', short: 'v' },
  };
  for (const [flag, { key }] of names) {
    options[flag] = { type: describe(key).isSwitch === true ? 'boolean' : 'string' };
  }
  for (const { name, placeholder } of verbFlags) {
    options[name] = { type: placeholder === undefined ? 'boolean' : 'string' };
  }
  const { tokens } = parseArgs({
    // A word behind one dash would be read as a flag for each of its letters.
    args: argv.map((argument) => (isWordOfOneDash(argument) ? `--${argument}` : argument)),
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const settings = new Map<SettingKey, Given[]>();
  const positionals: string[] = [];
  const flags = new Map<string, string | true>();
  const problems: string[] = [];
  const unknownFlags = new Set<string>();
  let help = false;
  let version = false;
  /** A switch, or a flag that does not exist: what follows it may be its value. */
  let open: Name | 'unknown' | undefined;
  for (const token of tokens) {
    const before = open;
    open = undefined;
    if (token.kind === 'positional') {
      if (typeof before === 'object' && /^(?:true|false)$/.test(token.value)) {
        const origin = `--${flagName(before.key)}`;
        settings.set(before.key, [{ origin, raw: token.value, isSecretFile: false }]);
      } else if (before !== 'unknown') {
        positionals.push(token.value);
      }
    } else if (token.kind === 'option') {
      const name = names.get(token.name);
      const ofVerb = ofVerbs.get(token.name);
      if (ofVerb !== undefined) {
        const isSwitch = ofVerb.placeholder === undefined;
        const value = token.value ?? (isSwitch ? true : undefined);
        if (isSwitch && value !== true) {
          problems.push(`${token.rawName} takes no value`);
        } else if (value === undefined || value === '' || (value !== true && value.startsWith('--'))) {
          problems.push(`${token.rawName} needs a value: ${token.rawName} ${ofVerb.placeholder ?? ''}`);
        } else {
          flags.set(token.name, value);
        }
      } else if (token.name === 'help') {
        help = true;
      } else if (token.name === 'version') {
        version = true;
      } else if (name === undefined) {
        unknownFlags.add(isWordOfOneDash(token.name) ? token.name : token.rawName);
        open = token.value === undefined ? 'unknown' : undefined;
      } else {
        const { isSwitch, placeholder } = describe(name.key);
        const value = token.value ?? (isSwitch === true ? true : undefined);
        if (value === undefined || (token.inlineValue === false && value.toString().startsWith('--'))) {
          problems.push(`${token.rawName} needs a value: ${token.rawName} ${placeholder}`);
        } else {
          // The last one counts, so that a flag can be appended to a command that has it already.
          settings.set(name.key, [{ origin: token.rawName, raw: value, isSecretFile: name.isSecretFile }]);
        }
        open = token.value === undefined ? name : undefined;
      }
    }
  }
  return { settings, positionals, flags, help, version, unknownFlags: [...unknownFlags], problems };
}

/** Such as `-data-dir`, where two dashes were meant. */
function isWordOfOneDash(argument: string): boolean {
  return /^-[a-z]{2}/i.test(argument);
}

/** What to write instead of a name that is not known, and where there is no such name the nearest. */
function instead(word: string, names: Iterable<string>): string {
  const near = nearest(word, names) ?? '';
  return isNear(word, near)
    ? `Did you mean ${near}?`
    : `The nearest is ${near}; kithdb serve --help lists them all`;
}

/** Reads environment variables; every `KITHDB_*` that is no setting is a problem. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): {
  readonly settings: Source;
  readonly problems: readonly string[];
} {
  const names = environmentNames();
  const settings = new Map<SettingKey, Given[]>();
  const problems: string[] = [];
  for (const [variable, raw] of Object.entries(env)) {
    if (raw === undefined || isInjectedByKubernetes(variable, raw)) {
      continue;
    }
    const name = names.get(variable);
    if (name !== undefined) {
      add(settings, name, variable, raw);
    } else if (variable.startsWith('KITHDB_')) {
      problems.push(`Unknown environment variable ${variable}. ${instead(variable, names.keys())}`);
    }
  }
  return { settings, problems };
}

/** A Kubernetes service named `kithdb` puts its address into every pod of its namespace, under our prefix. */
function isInjectedByKubernetes(variable: string, value: string): boolean {
  return (
    variable.startsWith('KITHDB_SERVICE_') ||
    variable.startsWith('KITHDB_PORT_') ||
    (variable === 'KITHDB_PORT' && /^(?:tcp|udp|sctp):\/\//.test(value))
  );
}

/** Reads the YAML file: a flat map of keys. */
export function readFile(path: string): { readonly settings: Source; readonly problems: readonly string[] } {
  const settings = new Map<SettingKey, Given[]>();
  const refuse = (problem: string): { settings: Source; problems: string[] } => ({
    settings,
    problems: [problem],
  });
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return refuse(`Cannot read the configuration file ${path}: ${reason(error)}`);
  }
  const document = parseDocument(text, { uniqueKeys: true });
  const [broken] = document.errors;
  if (broken !== undefined) {
    return refuse(`The configuration file ${path} is not valid YAML: ${broken.message.split('\n')[0] ?? ''}`);
  }
  if (document.contents === null) {
    return { settings, problems: [] };
  }
  if (!isMap(document.contents)) {
    return refuse(`The configuration file ${path} must be a map of settings, one "key: value" a line`);
  }
  const names = fileKeys();
  const problems: string[] = [];
  for (const { key: node, value } of document.contents.items) {
    const key = String(isScalar(node) ? node.value : node);
    const name = names.get(key);
    const raw: unknown = value === null ? null : (value as { toJSON(): unknown }).toJSON();
    if (name === undefined) {
      problems.push(`Unknown key ${key} in ${path}. ${instead(key, names.keys())}`);
    } else if (raw !== null) {
      if (isRawValue(raw)) {
        add(settings, name, `${key} in ${path}`, raw);
      } else {
        problems.push(`${key} in ${path} must be a single value`);
      }
    }
  }
  return { settings, problems };
}

function isRawValue(value: unknown): value is RawValue {
  return (
    ['string', 'number', 'boolean'].includes(typeof value) ||
    (Array.isArray(value) && value.every((item) => typeof item === 'string'))
  );
}

function add(settings: Map<SettingKey, Given[]>, name: Name, origin: string, raw: RawValue): void {
  const given = settings.get(name.key) ?? [];
  given.push({ origin, raw, isSecretFile: name.isSecretFile });
  settings.set(name.key, given);
}

/** Every flag without its dashes: one for each setting, and only the file form of a secret. */
export function flagNames(): ReadonlyMap<string, Name> {
  return new Map<string, Name>(
    SETTING_KEYS.map((key) =>
      describe(key).secret === true
        ? [`${flagName(key)}-file`, { key, isSecretFile: true }]
        : [flagName(key), { key, isSecretFile: false }],
    ),
  );
}

/** Every environment variable. */
export function environmentNames(): ReadonlyMap<string, Name> {
  const names = new Map<string, Name>();
  for (const key of SETTING_KEYS) {
    const { secret, aliases = [] } = describe(key);
    for (const variable of [environmentName(key), ...aliases]) {
      names.set(variable, { key, isSecretFile: false });
      if (secret === true) {
        names.set(`${variable}_FILE`, { key, isSecretFile: true });
      }
    }
  }
  return names;
}

/** Every key of the file. */
export function fileKeys(): ReadonlyMap<string, Name> {
  const names = new Map<string, Name>();
  for (const key of SETTING_KEYS) {
    const { secret, notInFile } = describe(key);
    if (notInFile !== true) {
      names.set(fileKey(key), { key, isSecretFile: false });
      if (secret === true) {
        names.set(`${fileKey(key)}_file`, { key, isSecretFile: true });
      }
    }
  }
  return names;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

/** Why a file cannot be read: in words, else by the operating system's code, else the error's message. */
export function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : (REASONS[code] ?? code);
}
