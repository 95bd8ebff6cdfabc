/** A row of a file, or why there is none. `line` begins at 1, `ordinal` counts rows from 0. */
export type Row =
  | { readonly line: number; readonly ordinal: number; readonly text: string }
  | { readonly line: number; readonly ordinal: number; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly problem: string };

/** Makes rows of the records of a CSV file, which come in parts. The first record has the names of the columns. */
export class Records {
  #names: readonly string[] | undefined;
  #line = 1;
  #ordinal = 0;

  /** `problems` are what the reader found wrong, by the place in this part. */
  rowsOf(records: readonly (readonly string[])[], problems: ReadonlyMap<number, string>): Row[] {
    return records.flatMap((record, at) => {
      const line = this.#line;
      this.#line += 1 + record.reduce((sum, value) => sum + lineBreaks(value), 0);
      if (record.length === 1 && record[0] === '') return [];
      if (this.#names === undefined) {
        this.#names = record;
        return [];
      }
      const ordinal = this.#ordinal++;
      const problem = problems.get(at) ?? mismatch(record, this.#names);
      return [
        problem === undefined ? { line, ordinal, fields: fieldsOf(record, this.#names) } : { line, problem },
      ];
    });
  }
}

function lineBreaks(value: string): number {
  return value.match(/\r\n|\r|\n/g)?.length ?? 0;
}

function mismatch(record: readonly string[], names: readonly string[]): string | undefined {
  return record.length === names.length
    ? undefined
    : `It has ${record.length} values for ${names.length} columns`;
}

/** Values that JSON writes without quotes become those; empty ones are left out. */
function fieldsOf(record: readonly string[], names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name, at) => {
      const value = record[at] ?? '';
      return value === '' ? [] : [[name, typedValue(value)]];
    }),
  );
}

function typedValue(text: string): unknown {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) {
    const value = Number(text);
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? text : value;
  }
  return text;
}
