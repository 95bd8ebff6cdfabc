/** Where in a JSON text the caret is, so that the fields of that place can be offered. */

export interface CaretPlace {
  /** The keys on the way to the object that the caret is in, a number for an item of a list. */
  readonly place: readonly (string | number)[];
  /** What of a key is written, and where it begins. */
  readonly written: string;
  readonly from: number;
}

interface Level {
  readonly isList: boolean;
  key: string | number;
}

const TOKEN = /"(?:[^"\\]|\\.)*"?|[[\]{},:]|[^\s[\]{},:"]+/g;

/** The place of a key; undefined where the caret is not at one. The text before it may be unfinished. */
export function caretPlace(text: string, caret: number): CaretPlace | undefined {
  const levels: Level[] = [];
  let expectsKey = false;
  let last = '';
  let lastAt = 0;
  for (const { 0: token, index } of text.slice(0, caret).matchAll(TOKEN)) {
    const level = levels.at(-1);
    last = token;
    lastAt = index;
    if (token === '{' || token === '[') {
      levels.push({ isList: token === '[', key: 0 });
      expectsKey = token === '{';
    } else if (token === '}' || token === ']') {
      levels.pop();
      expectsKey = false;
    } else if (token === ',' && level !== undefined) {
      if (level.isList) level.key = Number(level.key) + 1;
      expectsKey = !level.isList;
    } else if (token === ':') {
      expectsKey = false;
    } else if (expectsKey && level !== undefined && token.startsWith('"')) {
      level.key = token.replaceAll('"', '');
    }
  }
  const level = levels.at(-1);
  if (level === undefined || level.isList || !expectsKey) return undefined;
  const isUnfinished = last.startsWith('"') && !/^"(?:[^"\\]|\\.)*"$/.test(last);
  if (!isUnfinished && last.startsWith('"')) return undefined;
  return {
    place: levels.slice(0, -1).map(({ key }) => key),
    written: isUnfinished ? last.slice(1) : '',
    from: isUnfinished ? lastAt : caret,
  };
}
