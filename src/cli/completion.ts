import { flagName, flagNames, isPathFlag, takesValue } from '../config';
import type { Verb } from './verbs';

/** A flag as a shell completes it, without its dashes. */
export interface CompletedFlag {
  readonly name: string;
  /** What follows it: nothing, a path, or a value that the shell cannot complete. */
  readonly value: 'none' | 'path' | 'other';
  /** What it is for, where the verb and not the table of settings has it. */
  readonly about?: string;
}

/**
 * The script with which bash and zsh complete verbs and flags, made from the tables of both. zsh reads it with
 * `bashcompinit`.
 */
export function completionScript(verbs: readonly Verb[]): string {
  const flags = new Map(verbs.map((verb) => [verb, flagsOf(verb)]));
  const all = [...flags.values()].flat();
  const named = (value: CompletedFlag['value']): string =>
    [...new Set(all.filter((one) => one.value === value).map(({ name }) => `--${name}`))].join('|');
  const withPath = verbs.filter((verb) => takesPath(verb)).map(({ name }) => `'${name}'`);
  return [
    '# To complete the verbs and flags of kithdb: source <(kithdb completion bash), or zsh',
    'if [ -n "${ZSH_VERSION-}" ]; then',
    '  autoload -U +X compinit bashcompinit',
    '  type compdef > /dev/null || compinit',
    '  bashcompinit',
    'fi',
    '_kithdb() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
    "  local verb='' words='' word",
    // zsh takes a length that begins with a letter for a modifier.
    '  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do',
    '    case "$word" in -*) break ;; esac',
    '    verb="${verb:+$verb }$word"',
    '  done',
    '  case "$previous" in',
    `    ${named('path')}) COMPREPLY=($(compgen -f -- "$current")); return ;;`,
    `    ${named('other')}) COMPREPLY=(); return ;;`,
    '  esac',
    '  case "$current" in',
    '    -*)',
    '      case "$verb" in',
    ...[...flags].map(([verb, own]) => `        ${pattern(verb)}) words='${flagWords(own)}' ;;`),
    '      esac ;;',
    '    *)',
    '      case "$verb" in',
    `        ${withPath.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;`,
    ...[...nextWords(verbs)].map(([begun, next]) => `        '${begun}') words='${[...next].join(' ')}' ;;`),
    '      esac ;;',
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -F _kithdb kithdb',
    '',
  ].join('\n');
}

/** Without a verb the command serves. Behind some verbs stands a word that is no flag. */
function pattern({ name, argument }: Verb): string {
  if (name === 'serve') {
    return "''|serve";
  }
  return argument === undefined ? `'${name}'` : `'${name}'|'${name} '*`;
}

function flagWords(flags: readonly CompletedFlag[]): string {
  return [...flags.map(({ name }) => name), 'help', 'version'].map((name) => `--${name}`).join(' ');
}

/** Whether the word behind a verb is a path. */
export function takesPath({ argument, flags = [] }: Verb): boolean {
  return flags.some(({ name, placeholder }) => name === argument && isPath(placeholder));
}

function isPath(placeholder: string | undefined): boolean {
  return placeholder === 'FOLDER' || placeholder === 'FILE';
}

/** The flags of a verb: its own, and its settings. */
export function flagsOf({ usesSettings, flags = [], settings }: Verb): readonly CompletedFlag[] {
  const ofVerb = flags.map(({ name, placeholder, about }): CompletedFlag => {
    const value = placeholder === undefined ? 'none' : isPath(placeholder) ? 'path' : 'other';
    return { name, value, about };
  });
  const only = settings?.map(flagName);
  const names = usesSettings ? [...flagNames().keys()] : [];
  const ofSettings = names
    .filter((name) => only === undefined || only.includes(name.replace(/-file$/, '')) || only.includes(name))
    .map((name): CompletedFlag => {
      const value = !takesValue(name) ? 'none' : isPathFlag(name) ? 'path' : 'other';
      return { name, value };
    });
  return [...ofVerb, ...ofSettings];
}

/** The words that may follow the first words of a verb, by these. */
export function nextWords(verbs: readonly Verb[]): ReadonlyMap<string, ReadonlySet<string>> {
  const next = new Map<string, Set<string>>();
  for (const { name } of verbs) {
    const words = name.split(' ');
    for (const [place, word] of words.entries()) {
      const begun = words.slice(0, place).join(' ');
      next.set(begun, (next.get(begun) ?? new Set()).add(word));
    }
  }
  return next;
}
