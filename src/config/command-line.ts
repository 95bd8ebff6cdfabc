import { parseArgs } from 'node:util';
import { describe, flagName, type SettingKey } from './settings';
import { flagNames, type Given, type Name, type Source } from './sources';

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

/**
 * Reads flags, those of verbs included; every other argument is positional. Of flags of verbs with the same name the last
 * one says what its value looks like.
 */
export function readFlags(argv: readonly string[], verbFlags: readonly VerbFlag[] = []): CommandLine {
  const reader = new FlagReader(verbFlags);
  for (const token of tokensOf(argv, verbFlags)) {
    reader.take(token);
  }
  return reader.commandLine();
}

type Token = ReturnType<typeof tokensOf>[number];
type OptionToken = Extract<Token, { readonly kind: 'option' }>;

function tokensOf(argv: readonly string[], verbFlags: readonly VerbFlag[]) {
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean', short: 'v' },
  };
  for (const [flag, { key }] of flagNames()) {
    options[flag] = { type: describe(key).isSwitch === true ? 'boolean' : 'string' };
  }
  for (const { name, placeholder } of verbFlags) {
    options[name] = { type: placeholder === undefined ? 'boolean' : 'string' };
  }
  return parseArgs({
    // A word behind one dash would be read as a flag for each of its letters.
    args: argv.map((argument) => (isWordOfOneDash(argument) ? `--${argument}` : argument)),
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  }).tokens;
}

/** Collects settings, flags and words from the tokens of a command line. */
class FlagReader {
  readonly #names = flagNames();
  readonly #ofVerbs: ReadonlyMap<string, VerbFlag>;
  readonly #settings = new Map<SettingKey, Given[]>();
  readonly #positionals: string[] = [];
  readonly #flags = new Map<string, string | true>();
  readonly #problems: string[] = [];
  readonly #unknownFlags = new Set<string>();
  #help = false;
  #version = false;
  /** A switch, or a flag that does not exist: what follows it may be its value. */
  #open: Name | 'unknown' | undefined;

  constructor(verbFlags: readonly VerbFlag[]) {
    this.#ofVerbs = new Map(verbFlags.map((flag) => [flag.name, flag]));
  }

  commandLine(): CommandLine {
    return {
      settings: this.#settings,
      positionals: this.#positionals,
      flags: this.#flags,
      help: this.#help,
      version: this.#version,
      unknownFlags: [...this.#unknownFlags],
      problems: this.#problems,
    };
  }

  take(token: Token): void {
    const before = this.#open;
    this.#open = undefined;
    if (token.kind === 'positional') {
      this.#takeWord(token.value, before);
    } else if (token.kind === 'option') {
      this.#takeFlag(token);
    }
  }

  #takeWord(word: string, before: Name | 'unknown' | undefined): void {
    if (typeof before === 'object' && /^(?:true|false)$/.test(word)) {
      const origin = `--${flagName(before.key)}`;
      this.#settings.set(before.key, [{ origin, raw: word, isSecretFile: false }]);
    } else if (before !== 'unknown') {
      this.#positionals.push(word);
    }
  }

  #takeFlag(token: OptionToken): void {
    const name = this.#names.get(token.name);
    const ofVerb = this.#ofVerbs.get(token.name);
    if (ofVerb !== undefined) {
      this.#takeVerbFlag(token, ofVerb);
    } else if (token.name === 'help') {
      this.#help = true;
    } else if (token.name === 'version') {
      this.#version = true;
    } else if (name === undefined) {
      this.#unknownFlags.add(isWordOfOneDash(token.name) ? token.name : token.rawName);
      this.#open = token.value === undefined ? 'unknown' : undefined;
    } else {
      this.#takeSetting(token, name);
    }
  }

  #takeVerbFlag(token: OptionToken, { placeholder }: VerbFlag): void {
    const isSwitch = placeholder === undefined;
    const value = token.value ?? (isSwitch ? true : undefined);
    if (isSwitch && value !== true) {
      this.#problems.push(`${token.rawName} takes no value`);
    } else if (value === undefined || value === '' || (value !== true && value.startsWith('--'))) {
      this.#problems.push(`${token.rawName} needs a value: ${token.rawName} ${placeholder ?? ''}`);
    } else {
      this.#flags.set(token.name, value);
    }
  }

  #takeSetting(token: OptionToken, name: Name): void {
    const { isSwitch, placeholder } = describe(name.key);
    const value = token.value ?? (isSwitch === true ? true : undefined);
    if (value === undefined || (token.inlineValue === false && value.toString().startsWith('--'))) {
      this.#problems.push(`${token.rawName} needs a value: ${token.rawName} ${placeholder}`);
    } else {
      // The last one counts, so that a flag can be appended to a command that has it already.
      this.#settings.set(name.key, [{ origin: token.rawName, raw: value, isSecretFile: name.isSecretFile }]);
    }
    this.#open = token.value === undefined ? name : undefined;
  }
}

/** Whether an argument is a word behind one dash, such as `-data-dir`. */
function isWordOfOneDash(argument: string): boolean {
  return /^-[a-z]{2}/i.test(argument);
}
