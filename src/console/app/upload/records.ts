/**
 * A row of a file, or why there is none: the text of an object in JSON, or the texts of columns by their names. `line`
 * begins at 1, `ordinal` counts rows from 0.
 */
export type Row =
  | { readonly line: number; readonly ordinal: number; readonly text: string }
  | { readonly line: number; readonly ordinal: number; readonly texts: Readonly<Record<string, string>> }
  | { readonly line: number; readonly problem: string };

/** Makes rows of the records of a CSV file, which come in parts. The first record has the names of the columns. */
export class Records {
  #names: readonly string[] | undefined;
  #line = 1;
  #ordinal = 0;

  /** `problems` are what the reader found wrong, by the place in this part. @throws Error for names that are no columns */
  rowsOf(records: readonly (readonly string[])[], problems: ReadonlyMap<number, string>): Row[] {
    return records.flatMap((record, at) => {
      const line = this.#line;
      this.#line += 1 + record.reduce((sum, value) => sum + lineBreaks(value), 0);
      if (record.length === 1 && record[0] === '') return [];
      if (this.#names === undefined) {
        this.#names = withoutTwins(record);
        return [];
      }
      const ordinal = this.#ordinal++;
      const problem = problems.get(at) ?? mismatch(record, this.#names);
      if (problem !== undefined) return [{ line, problem }];
      const texts = textsOf(record, this.#names);
      return [texts === undefined ? { line, problem: TWO_WITHOUT_NAME } : { line, ordinal, texts }];
    });
  }
}

const TWO_WITHOUT_NAME = 'It has values in two columns without a name';

function withoutTwins(names: readonly string[]): readonly string[] {
  const twin = names.find((name, at) => name !== '' && names.indexOf(name) < at);
  if (twin !== undefined) throw new Error(`The first line has the column “${twin}” twice`);
  return names;
}

function lineBreaks(value: string): number {
  return value.match(/\r\n|\r|\n/g)?.length ?? 0;
}

function mismatch(record: readonly string[], names: readonly string[]): string | undefined {
  return record.length === names.length
    ? undefined
    : `It has ${record.length} values for ${names.length} columns`;
}

/** The texts of a record; empty ones are left out. */
function textsOf(record: readonly string[], names: readonly string[]): Record<string, string> | undefined {
  const given = names.flatMap((name, at) => {
    const value = record[at] ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  const texts = Object.fromEntries(given);
  return Object.keys(texts).length < given.length ? undefined : texts;
}
