import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import type * as Yaml from 'yaml';
import { isNear, nearest } from './nearest';
import { describe, environmentName, fileKey, flagName, SETTING_KEYS, type SettingKey } from './settings';
import type { RawValue } from './setting';

/** A value that a source gives, before it is parsed. */
export interface Given {
  /** The place as messages name it: `--port`, `KITHDB_PORT`, `port in kithdb.yaml`. */
  readonly origin: string;
  readonly raw: RawValue;
  /** The value is the path of a file that holds the secret. */
  readonly isSecretFile: boolean;
}

/** What one source gives for each setting; a secret may be given more than once under its several names. */
export type Source = ReadonlyMap<SettingKey, readonly Given[]>;

/** A setting by one of its names. */
export interface Name {
  readonly key: SettingKey;
  readonly isSecretFile: boolean;
}

/** The suggestion for an unknown name: the name that was probably meant, else the nearest one. */
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
    const name = names.get(variable);
    if (raw === undefined || isInjectedByKubernetes(variable, raw, name !== undefined)) {
      continue;
    }
    if (name !== undefined) {
      add(settings, name, variable, raw);
    } else if (variable.startsWith('KITHDB_')) {
      problems.push(`Unknown environment variable ${variable}. ${instead(variable, names.keys())}`);
    }
  }
  return { settings, problems };
}

const SERVICE_URL = /^(?:tcp|udp|sctp):\/\//;
/** What the variables of each port of a service hold: a URL, a protocol, a port or an address. */
const SERVICE_PORT_VALUE = /^(?:(?:tcp|udp|sctp)(?::\/\/.*)?|\d{1,5})$/;

/**
 * Whether a variable is one that Kubernetes puts into every pod of a namespace for a service named `kithdb`, or whose
 * name begins so (`kithdb-headless`): under our prefix, and no setting (C11.2).
 */
function isInjectedByKubernetes(variable: string, value: string, isSetting: boolean): boolean {
  if (variable === 'KITHDB_PORT') {
    return SERVICE_URL.test(value);
  }
  if (isSetting || !variable.startsWith('KITHDB_')) {
    return false;
  }
  return (
    /^KITHDB_(?:SERVICE|PORT)_/.test(variable) ||
    /^KITHDB_.+_SERVICE_(?:HOST$|PORT(?:_|$))/.test(variable) ||
    (/^KITHDB_.+_PORT$/.test(variable) && SERVICE_URL.test(value)) ||
    (/^KITHDB_.+_PORT_\d+_/.test(variable) && (SERVICE_PORT_VALUE.test(value) || isIP(value) !== 0))
  );
}

/** The package is loaded where there is a file, which most commands lack. */
const load = createRequire(__filename);

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
  const { isMap, isScalar, parseDocument } = load('yaml') as typeof Yaml;
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
      } else if (describe(name.key).isStructured === true) {
        add(settings, name, `${key} in ${path}`, JSON.stringify(raw));
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

/** Whether a flag, without its dashes, needs a value: every one but a switch. */
export function takesValue(flag: string): boolean {
  const name = flagNames().get(flag);
  return name !== undefined && describe(name.key).isSwitch !== true;
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
