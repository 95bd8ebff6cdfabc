import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ContractServer } from '../contract/contract-server';
import { runCommand, type Outcome } from './run-command';

/** `kithdb import` stores what a file has, or says that it does not; `kithdb export` writes what is stored (C11.4). */
describe('rows as they are written', () => {
  let server: ContractServer;
  let folder: string;
  let made = 0;
  beforeAll(async () => {
    server = await ContractServer.start();
    folder = mkdtempSync(join(tmpdir(), 'kithdb-as-written-'));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const kithdb = (verb: string, ...flags: string[]): Promise<Outcome> =>
    runCommand([verb, '--url', `http://127.0.0.1:${server.port}`, ...flags]);

  function file(name: string, content: string | Buffer): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  /** Imports a file, into a new collection unless one is named. */
  async function imported(
    name: string,
    content: string | Buffer,
    ...flags: string[]
  ): Promise<Outcome & { readonly into: string }> {
    made += 1;
    const into = `written-${made}`;
    const path = file(name, content);
    const all = ['--file', path, '--collection', into, '--distance', 'Dot', '--parallel', '1', ...flags];
    return { ...(await kithdb('import', ...all)), into };
  }

  /** The lines of an export. */
  async function lines(name: string, ...flags: string[]): Promise<string[]> {
    const { code, out } = await kithdb('export', '--collection', name, ...flags);
    expect(code).toBe(0);
    return out.trimEnd().split('\n');
  }

  /** The rows that were refused, each with its place and why. */
  function rejected(path: string): unknown[] {
    const rows = readFileSync(path, 'utf8').trimEnd().split('\n');
    return rows.map((row) => {
      const { place, reason } = JSON.parse(row) as Record<string, string>;
      return `${place}: ${reason}`;
    });
  }

  const base64 = Buffer.from(Float32Array.of(0.5, -2).buffer).toString('base64');
  const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

  describe('a text that is not UTF-8', () => {
    it('is refused in lines of JSON, whether they are points, have columns or are sent again', async () => {
      const points = [
        '{"id":1,"vector":[1,2],"payload":{"t":"caf\u00c3\u00a9"}}',
        '{"id":2,"vector":[1,2],"payload":{"t":"caf\u00e9"}}',
        '{"id":3,"vector":[1,2,3]}',
        `{"id":4,"vector":"${base64}","payload":{"t":"caf\u00e9"}}`,
        '{"id":5,"vector":[1,2]',
        '{"id":6,"vector":[1,2]}',
      ].join('\n');
      const rejects = join(folder, 'latin1-rejects.jsonl');
      const { code, into } = await imported('latin1.jsonl', latin1(points), '--rejects', rejects);
      expect(code).toBe(3);
      expect(rejected(rejects)).toEqual(
        expect.arrayContaining(['line 2: it is not UTF-8', 'line 4: it is not UTF-8']),
      );
      expect(await lines(into)).toEqual([
        '{"id":1,"payload":{"t":"café"},"vector":[1.0,2.0]}',
        '{"id":6,"payload":{},"vector":[1.0,2.0]}',
      ]);
      const columns = '{"id":1,"e":[1,2],"t":"caf\u00e9"}\n{"id":2,"e":[1,2]}\n';
      const mapped = await imported('columns.jsonl', latin1(columns), '--vector', 'e', '--rejects', rejects);
      expect([mapped.code, rejected(rejects)]).toEqual([3, ['line 1: it is not UTF-8']]);
    });

    it('ends the import of a CSV file with the line', async () => {
      const csv = 'id,vector,t\n1,"[1,2]",caf\u00c3\u00a9\n2,"[1,2]",caf\u00e9\n';
      for (const [name, content] of [
        ['latin1.csv', latin1(csv)],
        ['latin1.csv.gz', gzipSync(latin1(csv))],
      ] as const) {
        const { code, err } = await imported(name, content);
        expect([code, err]).toEqual([1, 'kithdb: Line 3 of the file is not UTF-8\n']);
      }
      const cut = await imported('cut.csv', latin1(`${csv.slice(0, csv.indexOf('2,"'))}2,"[1,2]",\u00c3`));
      expect([cut.code, cut.err]).toEqual([1, 'kithdb: Line 3 of the file is not UTF-8\n']);
    });

    it('names the line of a CSV file too where a character is in two pieces of it', async () => {
      // An odd number of bytes before letters of two: each piece ends amid one.
      const csv = Buffer.from(`id,vector,t\n1,"[1,2]",x${'é'.repeat(600_000)}\n2,"[1,2]",\n3,"[1,2]",`);
      const { code, err } = await imported('pieces.csv', Buffer.concat([csv, latin1('caf\u00e9\n')]));
      expect([code, err]).toEqual([1, 'kithdb: Line 4 of the file is not UTF-8\n']);
    });

    it('is refused in a filter', async () => {
      const filter = file(
        'latin1-filter.json',
        latin1('{"must":[{"key":"t","match":{"value":"caf\u00e9"}}]}'),
      );
      const { code, err } = await kithdb('export', '--collection', 'none', '--filter', filter);
      expect([code, err]).toEqual([2, `kithdb: ${filter} is not UTF-8\n`]);
    });

    it('is refused in payloads of vectors and in Parquet', async () => {
      const rejects = join(folder, 'other-rejects.jsonl');
      const payloads = file('latin1-payloads.jsonl', latin1('{"t":"caf\u00e9"}\n{"t":1}\n'));
      const vectors = Buffer.from([2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 3, 4]);
      const flags = ['--payload', payloads, '--rejects', rejects];
      const bvecs = await imported('latin1.bvecs', vectors, ...flags);
      expect([bvecs.code, rejected(rejects)]).toEqual([3, ['row 0: its payload: it is not UTF-8']]);
      const { parquetWriteBuffer } = await import('hyparquet-writer');
      const columnData = [
        { name: 'id', data: [5, 6], type: 'INT32' as const },
        { name: 'vector', data: ['[1,2]', '[3,4]'], type: 'STRING' as const },
        { name: 'raw', data: [Uint8Array.of(0xe9), Uint8Array.of(0x61)], type: 'BYTE_ARRAY' as const },
      ];
      const bytes = Buffer.from(parquetWriteBuffer({ columnData }));
      const parquet = await imported('latin1.parquet', bytes, '--rejects', rejects);
      expect([parquet.code, rejected(rejects)]).toEqual([3, ['row 0: the column raw is not UTF-8']]);
      expect(await lines(parquet.into)).toEqual(['{"id":6,"payload":{"raw":"a"},"vector":[3.0,4.0]}']);
    });
  });

  describe('a file that cannot be unpacked or read is named in one sentence', () => {
    const point = (id: number): string =>
      `{"id":${id},"vector":[${id}.5,2],"payload":{"a":"${'x'.repeat(id)}"}}\n`;
    const jsonl = Array.from({ length: 200 }, (_, id) => point(id)).join('');
    const csv = `id,vector\n${Array.from({ length: 200 }, (_, id) => `${id},"[${id}.5,2]"\n`).join('')}`;
    const cut = (text: string): Buffer => gzipSync(text).subarray(0, 60);
    const foreign = Buffer.from('{"id":1,"vector":[1,2]}');
    const damaged = (text: string): Buffer => {
      const bytes = gzipSync(text);
      // The checksum of what is packed.
      bytes.fill(0, bytes.length - 8, bytes.length - 4);
      return bytes;
    };

    it.each([
      ['cut.jsonl.gz', cut(jsonl), 'is not whole: it ends within its gzip data', []],
      ['cut-columns.jsonl.gz', cut(jsonl), 'is not whole: it ends within its gzip data', ['--id', 'id']],
      ['cut.csv.gz', cut(csv), 'is not whole: it ends within its gzip data', []],
      ['foreign.jsonl.gz', foreign, 'is damaged or no gzip: incorrect header check', []],
      ['foreign.csv.gz', foreign, 'is damaged or no gzip: incorrect header check', []],
      ['damaged.jsonl.gz', damaged(jsonl), 'is damaged or no gzip: incorrect data check', []],
      ['damaged.csv.gz', damaged(csv), 'is damaged or no gzip: incorrect data check', []],
    ])('%s', async (name, content, why, flags) => {
      const sentence = `kithdb: ${join(folder, name)} ${why}\n`;
      const { code, err, into } = await imported(name, content, ...flags);
      expect([code, err.replace(/^.* is imported in part.*\n/, '')]).toEqual([1, sentence]);
      const path = ['--file', join(folder, name), ...flags];
      // Of a collection that is there, and of one that is not.
      await server.ok('PUT', `/collections/${into}-there`, { vectors: { size: 2, distance: 'Dot' } });
      for (const collection of [`${into}-there`, `${into}-missing`]) {
        const dry = await kithdb('import', '--collection', collection, '--dry-run', ...path);
        expect([dry.code, dry.err]).toEqual([1, sentence]);
      }
    });

    it('payloads of vectors, and pages of Parquet', async () => {
      const payloads = file('cut-payloads.jsonl.gz', cut(jsonl));
      const vectors = Buffer.from(Array.from({ length: 200 }, () => [1, 0, 0, 0, 1]).flat());
      const bvecs = await imported('payloads.bvecs', vectors, '--payload', payloads);
      expect([bvecs.code, bvecs.err]).toEqual([
        1,
        `kithdb: ${payloads} is not whole: it ends within its gzip data\n`,
      ]);
      const { parquetWriteBuffer } = await import('hyparquet-writer');
      const data = Array.from({ length: 200 }, (_, id) => `[${id},${id}]`);
      const columnData = [{ name: 'vector', data, type: 'STRING' as const }];
      const parquet = Buffer.from(parquetWriteBuffer({ columnData, codec: 'SNAPPY' })).fill(0xff, 30, 200);
      const { code, err } = await imported('damaged.parquet', parquet);
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/^kithdb: \S+damaged\.parquet cannot be read from row 0 on: .+\n$/),
      ]);
    });
  });

  it('a byte order mark begins a file of JSON lines or payloads and is no part of it, and inside of a text it stays', async () => {
    const point = '{"id":1,"vector":[1,2],"payload":{"a":1}}\n';
    for (const [name, content, ...flags] of [
      ['bom.jsonl', `\ufeff${point}`],
      ['bom.jsonl.gz', gzipSync(`\ufeff${point}`)],
      ['bom-columns.jsonl', '\ufeff{"id":1,"e":[1,2],"a":1}', '--vector', 'e'],
      ['bom.csv', '\ufeffid,vector,a\n1,"[1,2]",1\n'],
    ] as const) {
      const { code, err, into } = await imported(name, content, ...flags);
      expect([name, code, err]).toEqual([name, 0, '']);
      expect(await lines(into)).toEqual(['{"id":1,"payload":{"a":1},"vector":[1.0,2.0]}']);
    }
    await server.collection('marks', { vectors: { size: 1, distance: 'Dot' }, ids: 'string' });
    const points = [
      { id: 'abc', vector: [1], payload: { x: 'plain' } },
      { id: '\ufeffabc', vector: [2], payload: { '\ufeffk': '\ufeffv' } },
    ];
    await server.ok('PUT', '/collections/marks/points', { points });
    const parquet = join(folder, 'marks.parquet');
    expect((await kithdb('export', '--collection', 'marks', '--to', parquet)).code).toBe(0);
    const again = await imported('marks.parquet', readFileSync(parquet), '--ids', 'string');
    expect(again.code).toBe(0);
    expect(await lines(again.into)).toEqual(await lines('marks'));
  });

  it('a column, a vector or a field may be called as a member of every object is', async () => {
    const csv = await imported('names.csv', 'id,__proto__,vector,toString\n1,a,"[1,2]",\n');
    expect(await lines(csv.into)).toEqual(['{"id":1,"payload":{"__proto__":"a"},"vector":[1.0,2.0]}']);
    const row = '{"key":1,"__proto__":[1,2],"constructor":"c","t":1}';
    const flags = ['--id', 'key', '--vector', '__proto__=__proto__', '--payload', 'constructor,toString'];
    const columns = await imported('names.jsonl', row, ...flags);
    expect([columns.code, columns.err]).toEqual([0, '']);
    expect(await lines(columns.into)).toEqual([
      '{"id":1,"payload":{"constructor":"c"},"vector":{"__proto__":[1.0,2.0]}}',
    ]);
    const without = await imported('no-id.jsonl', '{"e":[1,2]}', '--vector', 'e', '--id', 'toString');
    expect(without.err).toContain('it has no id in the column toString');
    const decoded = `{"id":1,"vector":{"__proto__":"${base64}"},"payload":{"__proto__":{"a":1.0}}}`;
    const points = await imported('points.jsonl', decoded);
    expect(await lines(points.into)).toEqual([
      '{"id":1,"payload":{"__proto__":{"a":1.0}},"vector":{"__proto__":[0.5,-2.0]}}',
    ]);
    const parquet = join(folder, 'names.parquet');
    expect((await kithdb('export', '--collection', points.into, '--to', parquet)).code).toBe(0);
    const again = await imported('names-again.parquet', readFileSync(parquet));
    expect(await lines(again.into)).toEqual(await lines(points.into));
    const { parquetWriteBuffer } = await import('hyparquet-writer');
    const columnData = [
      { name: 'vector', data: ['[1,2]'], type: 'STRING' as const },
      { name: '__proto__', data: ['a'], type: 'STRING' as const },
    ];
    const foreign = await imported('foreign.parquet', Buffer.from(parquetWriteBuffer({ columnData })));
    expect(await lines(foreign.into)).toEqual(['{"id":0,"payload":{"__proto__":"a"},"vector":[1.0,2.0]}']);
  });

  it('CSV: numbers beyond all bounds are texts, a name stands once, and lines end in any way', async () => {
    const csv =
      'id,vector,n,t\r\n1,"[1,2]",1e999,"a\r\nb"\n2,"[1,2]",-1e999,"a\nb"\r3,"[1,2]",1e3,"a\rb"\r\n';
    const { code, err, into } = await imported('mixed.csv', csv);
    expect([code, err]).toEqual([0, '']);
    expect(await lines(into)).toEqual([
      '{"id":1,"payload":{"n":"1e999","t":"a\\r\\nb"},"vector":[1.0,2.0]}',
      '{"id":2,"payload":{"n":"-1e999","t":"a\\nb"},"vector":[1.0,2.0]}',
      '{"id":3,"payload":{"n":1e3,"t":"a\\rb"},"vector":[1.0,2.0]}',
    ]);
    const twice = await imported('twice.csv', 'id,a,vector,a\n1,x,"[1,2]",y\n');
    expect([twice.code, twice.err]).toEqual([1, 'kithdb: The first line has the column a twice\n']);
    // Programs write commas behind the last column.
    const commas = await imported('commas.csv', 'id,vector,,\n1,"[1,2]",,\n');
    expect(await lines(commas.into)).toEqual(['{"id":1,"payload":{},"vector":[1.0,2.0]}']);
    const values = await imported('nameless.csv', 'id,vector,,\n1,"[1,2]",x,y\n');
    expect(values.err).toContain('line 2: it has values in two columns without a name');
  });

  it('an id of digits that begins with a zero is another one', async () => {
    const csv = 'id,vector\n007,"[1,2]"\n7,"[3,4]"\n0,"[5,6]"\n';
    const strings = await imported('zeros.csv', csv, '--ids', 'string');
    const ids = async (name: string): Promise<unknown[]> =>
      (await lines(name)).map((line) => (JSON.parse(line) as { id: unknown }).id);
    expect(await ids(strings.into)).toEqual([0, 7, '007']);
    const integers = await imported('zeros.csv', csv, '--rejects', join(folder, 'zeros-rejects.jsonl'));
    expect([integers.code, integers.err]).toEqual([
      3,
      expect.stringContaining('line 2: id: value "007" is not a valid point ID'),
    ]);
    expect(await ids(integers.into)).toEqual([0, 7]);
  });

  it('a line that ends within a named vector is refused as any that is not JSON', async () => {
    const points = '{"id":1,"vector":{"a":[1,2]}}\n{"id":2,"vector":{"a":[1,2}}\n';
    const rejects = join(folder, 'within-rejects.jsonl');
    const { code, into } = await imported('within.jsonl', points, '--rejects', rejects);
    expect([code, await lines(into)]).toEqual([3, ['{"id":1,"payload":{},"vector":{"a":[1.0,2.0]}}']]);
    expect(readFileSync(rejects, 'utf8')).toContain('"place":"line 2"');
  });

  it('payloads of vectors: blank lines are passed over, and there is one for each row', async () => {
    const vectors = Buffer.from([1, 0, 0, 0, 1, 1, 0, 0, 0, 2]);
    const payloads = (text: string): string[] => ['--payload', file('payloads.jsonl', text)];
    const whole = await imported('blank.bvecs', vectors, ...payloads('\ufeff{"n":0}\n\n \r\n{"n":1}\n\n'));
    expect([whole.code, whole.err]).toEqual([0, '']);
    expect(await lines(whole.into)).toEqual([
      '{"id":0,"payload":{"n":0},"vector":[1.0]}',
      '{"id":1,"payload":{"n":1},"vector":[2.0]}',
    ]);
    const longer = await imported('more.bvecs', vectors, ...payloads('{"n":0}\n{"n":1}\n{"n":2}\n'));
    expect([longer.code, longer.err]).toEqual([
      1,
      expect.stringContaining('The payloads go on behind the last row, which is row 1'),
    ]);
    const none = await imported('none.bvecs', vectors, '--payload', join(folder, 'none.jsonl'));
    expect([none.code, none.err]).toEqual([1, `kithdb: There is no file ${join(folder, 'none.jsonl')}\n`]);
  });

  it('C7 numbers of columns keep their form, in lines of JSON and in CSV', async () => {
    const forms = ['1', '1.0', '-0.0', '-0', '1e3', '1.5E2', '1e20', '0.99999999999999999999', '1e-400'];
    const numbers = [...forms, '12345678901234567890.0', '18446744073709551615', '-9007199254740993', '0.10'];
    const names = numbers.map((_, at) => `n${at}`);
    const fields = numbers.map((number, at) => `"n${at}":${number}`).join(',');
    const more = '"list":[1.0,[2.0,"]"],{"a":3.0}],"t":"1.0, \\"2.0\\"","n":null,"yes":true';
    const payload = `{${fields},${more}}`;
    const points = await imported('numbers.jsonl', `{"id":7,"vector":[1.0,2],"payload":${payload}}`);
    const [stored = ''] = await lines(points.into);
    expect(stored).toContain('"n1":1.0,');
    const flags = ['--id', 'pk', '--vector', 'v'];
    const line = ` { "pk" : 7 , ${fields} , "v" : [ 1.0 , 2 ], ${more.replace('"t"', '"\\u0074"')} } `;
    const columns = await imported('numbers-columns.jsonl', line, ...flags);
    expect(await lines(columns.into)).toEqual([stored]);

    const flat = await imported('flat.jsonl', `{"id":7,"vector":[1,2],"payload":{${fields}}}`);
    const csv = `pk,v,${names.join(',')}\n7,"[1.0,2]",${numbers.join(',')}\n`;
    const rows = await imported('numbers.csv', csv, ...flags);
    expect(await lines(rows.into)).toEqual(await lines(flat.into));

    const match = (key: string): object => ({ filter: { must: { key, match: { value: 1 } } } });
    for (const { into } of [points, columns, rows]) {
      const count = (key: string): Promise<unknown> =>
        server.ok('POST', `/collections/${into}/points/count`, match(key));
      expect([into, await count('n0'), await count('n1')]).toEqual([into, { count: 1 }, { count: 0 }]);
    }
  });

  it('C7 numbers of Parquet keep their form in columns of JSON, and are floats in those of floats', async () => {
    const { parquetWriteBuffer } = await import('hyparquet-writer');
    const columnData = [
      { name: 'id', data: [7], type: 'DOUBLE' as const },
      { name: 'vector', data: ['[1.0,2]'], type: 'STRING' as const },
      { name: 'json', data: [{ a: 110 }], type: 'JSON' as const },
      { name: 'double', data: [1], type: 'DOUBLE' as const },
      { name: 'float', data: [-0], type: 'FLOAT' as const },
      { name: 'large', data: [1e20], type: 'DOUBLE' as const },
      { name: 'part', data: [1.5], type: 'DOUBLE' as const },
      { name: 'integer', data: [1], type: 'INT32' as const },
    ];
    // The writer cannot be given 1.0 in JSON.
    const written = Buffer.from(parquetWriteBuffer({ columnData })).toString('latin1');
    const bytes = latin1(written.replaceAll('{"a":110}', '{"a":1.0}'));
    const { into, err } = await imported('forms.parquet', bytes);
    expect(err).toBe('');
    expect(await lines(into)).toEqual([
      '{"id":7,"payload":{"json":{"a":1.0},"double":1.0,"float":-0.0,"large":100000000000000000000.0,"part":1.5,"integer":1},"vector":[1.0,2.0]}',
    ]);
  });

  it('C7 numbers within structs, lists and maps of Parquet are floats where the schema says so', async () => {
    const { parquetWriteBuffer } = await import('hyparquet-writer');
    const group = (name: string, children: number, more: object = {}): object => ({
      ...{ name, repetition_type: 'OPTIONAL', num_children: children },
      ...more,
    });
    const leaf = (name: string, type: string, more: object = {}): object => ({
      ...{ name, type, repetition_type: 'OPTIONAL' },
      ...more,
    });
    const text = { converted_type: 'UTF8' };
    const repeated = { repetition_type: 'REPEATED' };
    const schema = [
      { name: 'root', num_children: 5 },
      leaf('id', 'INT32'),
      leaf('vector', 'BYTE_ARRAY', text),
      ...[group('struct', 3), leaf('name', 'BYTE_ARRAY', text), leaf('w', 'DOUBLE'), leaf('n', 'INT32')],
      ...[group('list', 1, { converted_type: 'LIST' }), group('list', 1, repeated)],
      ...[group('element', 2), leaf('n', 'INT32'), leaf('w', 'FLOAT')],
      ...[group('map', 1, { converted_type: 'MAP' }), group('key_value', 2, repeated)],
      ...[leaf('key', 'BYTE_ARRAY', { ...text, repetition_type: 'REQUIRED' }), leaf('value', 'DOUBLE')],
    ];
    const columnData = [
      { name: 'id', data: [7] },
      { name: 'vector', data: ['[1,2]'] },
      { name: 'struct', data: [{ name: 'a', w: 1, n: 1 }] },
      { name: 'list', data: [[{ n: 2, w: 2 }, null, { n: 3, w: 2.5 }]] },
      { name: 'map', data: [{ w: 1, name: 2 }] },
    ];
    const bytes = Buffer.from(parquetWriteBuffer({ columnData, schema: schema as never }));
    const { into, err } = await imported('nested.parquet', bytes);
    expect(err).toBe('');
    expect(await lines(into)).toEqual([
      '{"id":7,"payload":{"struct":{"name":"a","w":1.0,"n":1},"list":[{"n":2,"w":2.0},null,{"n":3,"w":2.5}],"map":{"w":1.0,"name":2.0}},"vector":[1.0,2.0]}',
    ]);
  });

  it('C7 decimals and times of Parquet have all of their digits, and what is no number is no value', async () => {
    const { parquetWriteBuffer } = await import('hyparquet-writer');
    const leaf = (name: string, type: string, more: object = {}): object => ({
      ...{ name, type, repetition_type: 'OPTIONAL' },
      ...more,
    });
    const decimal = (precision: number, scale: number): object => ({
      ...{ converted_type: 'DECIMAL', precision, scale },
    });
    const schema = [
      { name: 'root', num_children: 10 },
      leaf('id', 'FIXED_LEN_BYTE_ARRAY', { type_length: 9, ...decimal(20, 0) }),
      leaf('vector', 'BYTE_ARRAY', { converted_type: 'UTF8' }),
      leaf('price', 'INT32', decimal(9, 2)),
      leaf('long', 'INT64', decimal(18, 4)),
      leaf('longer', 'FIXED_LEN_BYTE_ARRAY', { type_length: 16, ...decimal(38, 3) }),
      leaf('micros', 'INT64', { converted_type: 'TIMESTAMP_MICROS' }),
      leaf('nanos', 'INT64', { logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'NANOS' } }),
      leaf('bytes', 'BYTE_ARRAY', decimal(12, 1)),
      leaf('none', 'DOUBLE'),
      leaf('beyond', 'DOUBLE'),
    ];
    const columnData = [
      { name: 'id', data: [9007199254740993n, 8n, 9n] },
      { name: 'vector', data: ['[1,2]', '[1,2]', '[1,2]'] },
      { name: 'price', data: [1999n, -5n, 500n] },
      { name: 'long', data: [123456789012345678n, 0n, null] },
      { name: 'longer', data: [-12345678901234567890123456789012345678n, 1n, null] },
      { name: 'micros', data: [1_700_000_000_123_456n, -1n, 1_700_000_000_123_000n] },
      { name: 'nanos', data: [1_700_000_000_123_456_789n, -1n, null] },
      { name: 'bytes', data: [-123n, null, 1n] },
      { name: 'none', data: [NaN, 1, 2] },
      { name: 'beyond', data: [1, -Infinity, null] },
    ];
    const bytes = Buffer.from(parquetWriteBuffer({ columnData, schema: schema as never }));
    const rejects = join(folder, 'digits-rejects.jsonl');
    const { into, code } = await imported('digits.parquet', bytes, '--rejects', rejects);
    expect([code, rejected(rejects)]).toEqual([3, ['row 1: the column beyond is infinite']]);
    expect(await lines(into)).toEqual([
      '{"id":9,"payload":{"price":5.00,"micros":"2023-11-14T22:13:20.123Z","bytes":0.1,"none":2.0},"vector":[1.0,2.0]}',
      '{"id":9007199254740993,"payload":{"price":19.99,"long":12345678901234.5678,"longer":-12345678901234567890123456789012345.678,"micros":"2023-11-14T22:13:20.123456Z","nanos":"2023-11-14T22:13:20.123456789Z","bytes":-12.3,"beyond":1.0},"vector":[1.0,2.0]}',
    ]);
  });

  it('of lines with white space that is not that of JSON the right one is rejected', async () => {
    const rows = [
      '{"id":1,"vector":[1,2]}',
      '\u00a0',
      '{"id":2,"vector":[1,2]}',
      ' \t',
      '{"id":3,"vector":[1,2]}',
    ];
    const rejects = join(folder, 'blank-rejects.jsonl');
    const { into, code } = await imported('blank.jsonl', `${rows.join('\n')}\n`, '--rejects', rejects);
    expect([code, rejected(rejects)]).toEqual([3, [expect.stringMatching(/^line 2: /)]]);
    expect(await lines(into)).toHaveLength(3);
    const packed = await imported('PACKED.JSONL.GZ', gzipSync(rows[0] ?? ''));
    expect([packed.code, await lines(packed.into)]).toEqual([0, [expect.stringContaining('"id":1')]]);
  });

  it('an id of columns is the one that is written', async () => {
    const rows = '{"pk":18446744073709551615,"v":[1,2]}\n{"pk":1.0,"v":[1,2]}\n{"pk":7,"v":[1,2]}\n';
    const rejects = join(folder, 'ids-rejects.jsonl');
    const { code, into } = await imported(
      'ids.jsonl',
      rows,
      '--id',
      'pk',
      '--vector',
      'v',
      '--rejects',
      rejects,
    );
    expect([code, await lines(into)]).toEqual([
      3,
      [
        '{"id":7,"payload":{},"vector":[1.0,2.0]}',
        '{"id":18446744073709551615,"payload":{},"vector":[1.0,2.0]}',
      ],
    ]);
    expect(readFileSync(rejects, 'utf8')).toContain('id: value 1.0 is not a valid point ID');
    const dry = ['--dry-run', '--file', join(folder, 'ids.jsonl'), '--id', 'pk', '--vector', 'v'];
    const checked = await kithdb('import', '--collection', into, ...dry);
    expect([checked.code, checked.err]).toEqual([3, expect.stringContaining('id: 1.0 is not an integer')]);
  });

  it('numbers keep their form where a vector is decoded and where an export leaves vectors out', async () => {
    const payload = '{"f":1.0,"e":1e20,"n":-0.0,"big":9007199254740993,"10":1,"2":2,"d":[0.5,1.50]}';
    const line = ` { "payload" : ${payload}, "vec\\u0074or" : "${base64}" , "id":18446744073709551615 } `;
    const { code, into } = await imported('forms.jsonl', line);
    expect(code).toBe(0);
    const raw = await imported(
      'raw.jsonl',
      `{"id":18446744073709551615,"vector":[0.5,-2],"payload":${payload}}`,
    );
    expect(await lines(into)).toEqual(await lines(raw.into));
    const [stored = ''] = await lines(raw.into);
    const own = /"payload":(\{.*\}),"vector"/.exec(stored)?.[1];
    expect(own).toContain('"f":1.0');
    expect(await lines(raw.into, '--without-vectors')).toEqual([
      `{"id":18446744073709551615,"vector":{},"payload":${own}}`,
    ]);
    // What is no payload is refused, as it is where nothing is decoded.
    const list = await imported('list.jsonl', `{"id":1,"vector":"${base64}","payload":[1]}`);
    expect([list.code, list.err]).toEqual([1, expect.stringContaining('payload')]);
  });
});
