import { flagName, flagNames, isPathFlag, takesValue } from '../config';
import type { Verb } from './verbs';

/** A flag as a shell completes it, with its dashes. */
interface CompletedFlag {
  readonly flag: string;
  /** What follows it: nothing, a path, or a value that the shell knows nothing about. */
  readonly value: 'none' | 'path' | 'other';
}

/**
 * The script with which bash and zsh complete verbs and flags, made from the tables of both. zsh reads it with
 * `bashcompinit`.
 */
export function completionScript(verbs: readonly Verb[]): string {
  const flags = new Map(verbs.map((verb) => [verb.name, flagsOf(verb)]));
  const all = [...flags.values()].flat();
  const named = (value: CompletedFlag['value']): string =>
    [...new Set(all.filter((one) => one.value === value).map(({ flag }) => flag))].join('|');
  return [
    '# To complete the verbs and flags of kithdb in bash or zsh: source <(kithdb completion)',
    'if [ -n "${ZSH_VERSION-}" ]; then',
    '  autoload -U +X compinit bashcompinit && compinit && bashcompinit',
    'fi',
    '_kithdb() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
    "  local verb='' words='' word",
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
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
    ...[...flags].map(([name, own]) => `        ${pattern(name)}) words='${flagWords(own)}' ;;`),
    '      esac ;;',
    '    *)',
    '      case "$verb" in',
    ...[...nextWords(verbs)].map(([begun, next]) => `        '${begun}') words='${[...next].join(' ')}' ;;`),
    '      esac ;;',
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -F _kithdb kithdb',
    '',
  ].join('\n');
}

/** Without a verb the command serves. */
function pattern(verb: string): string {
  return verb === 'serve' ? "''|serve" : `'${verb}'`;
}

function flagWords(flags: readonly CompletedFlag[]): string {
  return [...flags.map(({ flag }) => flag), '--help', '--version'].join(' ');
}

function flagsOf({ usesSettings, flags = [], settings }: Verb): readonly CompletedFlag[] {
  const ofVerb = flags.map(({ name, placeholder }): CompletedFlag => {
    const isPath = placeholder === 'FOLDER' || placeholder === 'FILE';
    return { flag: `--${name}`, value: placeholder === undefined ? 'none' : isPath ? 'path' : 'other' };
  });
  const only = settings?.map(flagName);
  const names = usesSettings ? [...flagNames().keys()] : [];
  const ofSettings = names
    .filter((name) => only === undefined || only.includes(name.replace(/-file$/, '')) || only.includes(name))
    .map((name): CompletedFlag => {
      const value = !takesValue(name) ? 'none' : isPathFlag(name) ? 'path' : 'other';
      return { flag: `--${name}`, value };
    });
  return [...ofVerb, ...ofSettings];
}

/** The words that may follow the first words of a verb, by these. */
function nextWords(verbs: readonly Verb[]): ReadonlyMap<string, ReadonlySet<string>> {
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
