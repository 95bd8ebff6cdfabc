import { flagsOf, nextWords, takesPath, type CompletedFlag } from './completion';
import { firstSentence } from './help';
import type { Verb } from './verbs';

/** The script with which fish completes verbs and flags, made from the tables of both. */
export function fishScript(verbs: readonly Verb[]): string {
  const words = [...nextWords(verbs)].flatMap(([begun, next]) =>
    [...next].map((word) => {
      const whole = begun === '' ? word : `${begun} ${word}`;
      const about = verbs.find(({ name }) => name === whole)?.about;
      return `complete -c kithdb -n ${quoted(`__kithdb_at ${quoted(begun)}`)} -a ${word}${described(about)}`;
    }),
  );
  return [
    '# To complete the verbs and flags of kithdb in fish: kithdb completion fish | source',
    'function __kithdb_words',
    '    set -l tokens (commandline -opc)',
    '    set -e tokens[1]',
    '    set -g __kithdb_verb',
    '    for word in $tokens',
    "        string match -q -- '-*' $word; and break",
    '        set -a __kithdb_verb $word',
    '    end',
    'end',
    '# Whether these words stand before the cursor, and no others.',
    'function __kithdb_at',
    '    __kithdb_words',
    '    test "$__kithdb_verb" = "$argv[1]"',
    'end',
    '# Whether these words stand there, and perhaps one more.',
    'function __kithdb_behind',
    '    __kithdb_words',
    '    test "$__kithdb_verb" = "$argv[1]"; or string match -q -- "$argv[1] *" "$__kithdb_verb"',
    'end',
    'complete -c kithdb -f',
    ...words,
    ...verbs.flatMap(linesOf),
    '',
  ].join('\n');
}

function linesOf(verb: Verb): readonly string[] {
  const { name, argument } = verb;
  const own = argument === undefined ? `__kithdb_at ${quoted(name)}` : `__kithdb_behind ${quoted(name)}`;
  const when = quoted(name === 'serve' ? `${own}; or __kithdb_at ''` : own);
  const always: readonly CompletedFlag[] = [
    { name: 'help', value: 'none' },
    { name: 'version', value: 'none' },
  ];
  const flags = [...flagsOf(verb), ...always].map(({ name: flag, value, about }) => {
    const kind = value === 'none' ? '' : value === 'path' ? ' -r -F' : ' -x';
    return `complete -c kithdb -n ${when} -l ${flag}${kind}${described(about)}`;
  });
  return takesPath(verb) ? [`complete -c kithdb -n ${when} -F`, ...flags] : flags;
}

/** The first sentence is what a list of completions has room for. */
function described(about: string | undefined): string {
  return about === undefined ? '' : ` -d ${quoted(firstSentence(about))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
