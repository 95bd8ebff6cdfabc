import { toPoint, type Mapping, type PointRow } from '../../src/console/app/upload/mapping';
import { rowsOf, type FileFormat } from '../../src/console/app/upload/rows';
import type { VectorField } from '../../src/console/app/service/types';
import { withExactNumbers } from './exact-numbers';

/** What the page of the console makes of the rows of a file. */
describe('an upload in the console', () => {
  withExactNumbers();

  const FIELDS = [{ name: '', kind: 'dense' }] as unknown as readonly VectorField[];
  const MAPPING: Mapping = { isPoint: false, id: 'id', vectors: { '': 'vector' }, texts: {} };

  async function points(
    content: string | Buffer,
    format: FileFormat,
    mapping = MAPPING,
    fields = FIELDS,
  ): Promise<(string | undefined)[]> {
    const found: PointRow[] = [];
    const file = new File([content], `file.${format}`);
    for await (const row of rowsOf(file, format, () => undefined)) found.push(toPoint(row, mapping, fields));
    return found.map((row) => ('point' in row ? row.point : `${row.line}: ${row.problem}`));
  }

  it('keeps integers beyond 2^53 and the form of numbers, of columns too', async () => {
    const row = '{"id":18446744073709551615,"vector":[1.0,2],"big":9007199254740993,"f":1.0}';
    expect(await points(row, 'jsonl')).toEqual([
      '{"id":18446744073709551615,"vector":[1.0,2],"payload":{"big":9007199254740993,"f":1.0}}',
    ]);
    const csv =
      'id,vector,big,inf,e,f,n\n18446744073709551615,"[1,2]",9007199254740993,1e999,1e300,1.0,12345678901234567890.0\n';
    expect(await points(csv, 'csv')).toEqual([
      '{"id":18446744073709551615,"vector":[1,2],"payload":{"big":9007199254740993,"inf":"1e999","e":1e300,"f":1.0,"n":12345678901234567890.0}}',
    ]);
  });

  it('reads ids of CSV as an import does', async () => {
    const csv = 'id,vector\n007,[1]\n7,[1]\n"""7""",[1]\n1e5,[1]\ntrue,[1]\n"""7",[1]\n';
    expect(await points(csv, 'csv')).toEqual([
      '{"id":"007","vector":[1],"payload":{}}',
      '{"id":7,"vector":[1],"payload":{}}',
      '{"id":"7","vector":[1],"payload":{}}',
      '{"id":"1e5","vector":[1],"payload":{}}',
      '{"id":"true","vector":[1],"payload":{}}',
      '7: The id begins with a quote and is no string of JSON',
    ]);
  });

  it('takes columns and vectors that are called as a member of every object is', async () => {
    const names = ['__proto__', 'constructor'];
    const fields = names.map((name) => ({ name, kind: 'dense' })) as unknown as readonly VectorField[];
    const vectors = Object.fromEntries([
      ['__proto__', '__proto__'],
      ['constructor', 'constructor'],
    ]) as Record<string, string>;
    const mapping = { ...MAPPING, vectors };
    expect(await points('{"id":1,"__proto__":[1],"t":2}', 'jsonl', mapping, fields)).toEqual([
      '{"id":1,"vector":{"__proto__":[1]},"payload":{"t":2}}',
    ]);
    expect(await points('id,__proto__,vector\n1,a,[1]\n', 'csv')).toEqual([
      '{"id":1,"vector":[1],"payload":{"__proto__":"a"}}',
    ]);
  });

  it('refuses a file that is not UTF-8, with the line, and passes over a byte order mark', async () => {
    const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
    await expect(points(latin1('{"id":1,"vector":[1]}\n{"id":"\u00e9"}\n'), 'jsonl')).rejects.toThrow(
      'Line 2 is not UTF-8: save the file in that encoding',
    );
    await expect(points(latin1('id,vector\n\u00e9,[1]\n'), 'csv')).rejects.toThrow('Line 2 is not UTF-8');
    await expect(points(latin1('id,vector\n1,[1]\n\u00c3'), 'csv')).rejects.toThrow('Line 3 is not UTF-8');
    const point = ['{"id":1,"vector":[1],"payload":{}}'];
    expect(await points('\ufeff{"id":1,"vector":[1]}', 'jsonl')).toEqual(point);
    expect(await points('\ufeffid,vector\n1,[1]', 'csv')).toEqual(point);
  });

  it('reads a CSV file that is longer than a part of it, whatever character stands where it is cut', async () => {
    const text = 'é€😀\n""'.repeat(40);
    const rows = Array.from({ length: 12_000 }, (_, id) => `${id},[1],"${text}"`);
    const all = await points(`id,vector,t\n${rows.join('\n')}\n`, 'csv');
    const written = JSON.stringify(text.replaceAll('""', '"'));
    expect(all).toHaveLength(rows.length);
    expect(new Set(all.map((point) => point?.replace(/^\{"id":\d+/, '')))).toEqual(
      new Set([`,"vector":[1],"payload":{"t":${written}}}`]),
    );
  });

  it('refuses a CSV file with a column name that stands twice', async () => {
    await expect(points('id,a,vector,a\n1,x,[1],y\n', 'csv')).rejects.toThrow(
      'The first line has the column “a” twice',
    );
    expect(await points('id,vector,,\n1,[1],,\n2,[1],x,y\n', 'csv')).toEqual([
      '{"id":1,"vector":[1],"payload":{}}',
      '3: It has values in two columns without a name',
    ]);
    expect(await points('', 'csv')).toEqual([]);
  });
});
