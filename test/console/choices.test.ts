import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DATATYPES, QUANTIZATIONS } from '../../src/console/app/collections/choices';
import { bodyOf, newCollection, newVector } from '../../src/console/app/collections/draft';
import { presentOfGraphs, presentQuantizations } from '../../src/console/app/collections/present-settings';
import { changeOf, NOTHING } from '../../src/console/app/collections/settings-draft';
import { vectorFields } from '../../src/console/app/service/types';
import { Records } from '../../src/console/app/upload/records';
import { ContractServer } from '../contract/contract-server';

interface Schema {
  readonly enum?: readonly (string | null)[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
}

const { components } = parse(readFileSync(join(__dirname, '..', '..', 'openapi', 'openapi.yaml'), 'utf8'), {
  merge: true,
  maxAliasCount: -1,
}) as { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } };

/** The configuration of a kind of quantisation. */
type Offered = Readonly<Record<string, unknown>> | undefined;

/** The values of a schema with a list of them, null aside. */
function valuesOf(schema: Schema | undefined): readonly unknown[] {
  return schema?.enum?.filter((value) => value !== null) ?? [];
}

describe('the choices of the console for a vector', () => {
  let server: ContractServer;

  beforeAll(async () => {
    server = await ContractServer.start();
  });
  afterAll(() => server.stop());

  it('C4.3 are taken by the server', async () => {
    for (const [at, { config }] of QUANTIZATIONS.entries()) {
      const vectors = {
        size: 4,
        distance: 'Dot',
        ...(config !== undefined && { quantization_config: config }),
      };
      await server.ok('PUT', `/collections/q${at}`, { vectors });
      const info = await server.ok('GET', `/collections/q${at}`);
      expect(info.config.params.vectors.quantization_config ?? undefined).toEqual(config);
    }
    for (const { value: datatype } of DATATYPES) {
      await server.ok('PUT', `/collections/d-${datatype}`, {
        vectors: { size: 4, distance: 'Dot', datatype },
      });
    }
  });

  it('C4.4 can be changed afterwards, also where vectors have their own', async () => {
    const vectors = [
      newVector({ name: 'a', size: '4', quantization: 'scalar', m: '8' }),
      newVector({ name: 'b', size: '4' }),
    ];
    const infoOf = (name: string) => server.ok('GET', `/collections/${name}`);
    for (const [name, draft] of [
      ['several', vectors],
      ['one', [newVector({ size: '4', quantization: 'scalar', m: '8' })]],
    ] as const) {
      await server.ok('PUT', `/collections/${name}`, bodyOf({ ...newCollection(), vectors: draft }));
      const before = await infoOf(name);
      const isMixed = name === 'several';
      expect(presentOfGraphs(before, 'm')).toEqual(isMixed ? ['8', '16'] : ['8']);
      expect(presentQuantizations(before)).toEqual(
        isMixed ? ['scalar, int8', 'chosen by the server'] : ['scalar, int8'],
      );
      const change = { ...NOTHING, m: '24', quantization: 'binary2' };
      await server.ok('PATCH', `/collections/${name}`, changeOf(change, undefined, vectorFields(before)));
      expect(presentOfGraphs(await infoOf(name), 'm')).toEqual(['24']);
      expect(presentQuantizations(await infoOf(name))).toEqual(['binary, two_bits']);
      const none = { ...NOTHING, quantization: 'none' };
      await server.ok('PATCH', `/collections/${name}`, changeOf(none, undefined, vectorFields(before)));
      expect(presentQuantizations(await infoOf(name))).toEqual(['chosen by the server']);
    }
  });

  it('C4.3 are all that the server has', () => {
    expect(DATATYPES.map(({ value }) => value)).toEqual(valuesOf(components.schemas['Datatype']));
    const kinds = components.schemas['Quantization']?.anyOf ?? [];
    const configs = QUANTIZATIONS.map(({ config }) => (config ?? {}) as Readonly<Record<string, Offered>>);
    for (const { required: [kind = ''] = [], properties = {} } of kinds) {
      const offered = configs.flatMap((config): readonly Offered[] => {
        const own = config[kind];
        return own === undefined ? [] : [own];
      });
      expect([kind, offered.length > 0]).toEqual([kind, true]);
      // Binary codes of one and a half bits are those of two.
      for (const name of ['compression', 'bits']) {
        const all = valuesOf(properties[kind]?.properties?.[name]);
        expect(offered.flatMap((own) => own?.[name] ?? []).sort()).toEqual([...all].sort());
      }
    }
    expect(kinds).toHaveLength(4);
    expect(new Set(QUANTIZATIONS.map(({ value }) => value)).size).toBe(QUANTIZATIONS.length);
  });
});

describe('the records of a CSV file in the console', () => {
  it('have the line where they begin, whatever is between them', () => {
    const records = new Records();
    const rows = [
      ...records.rowsOf([['id', 'text'], [''], ['1', 'two\nlines'], ['2', 'a', 'b']], new Map()),
      // The next part of the file.
      ...records.rowsOf([['3', 'true'], [''], ['4', 'broken"'], ['5', '']], new Map([[2, 'a wrong quote']])),
    ];
    expect(rows).toEqual([
      { line: 3, ordinal: 0, texts: { id: '1', text: 'two\nlines' } },
      { line: 5, problem: 'It has 3 values for 2 columns' },
      { line: 6, ordinal: 2, texts: { id: '3', text: 'true' } },
      { line: 8, problem: 'a wrong quote' },
      { line: 9, ordinal: 4, texts: { id: '5' } },
    ]);
  });
});

describe('the settings of a collection in the console', () => {
  const draft = { ...NOTHING, m: '32', efSearch: '200', residency: 'hot' };

  it('are those of the fields and those of the JSON beside them, which counts where both have one', () => {
    expect(changeOf(draft, undefined, [])).toEqual({
      hnsw_config: { m: 32, ef_search: 200 },
      residency: 'hot',
    });
    const further = { hnsw_config: { m: 8, on_disk: true }, residency: null, field_indexes: 'manual' };
    expect(changeOf(draft, further, [])).toEqual({
      hnsw_config: { m: 8, ef_search: 200, on_disk: true },
      residency: null,
      field_indexes: 'manual',
    });
    // The server says what is wrong with it.
    expect(changeOf(draft, { hnsw_config: null }, [])).toEqual({ hnsw_config: null, residency: 'hot' });
    expect(changeOf(NOTHING, {}, [])).toEqual({});
  });

  const own = (name: string, hnsw: object, quantization: object | null) =>
    ({ name, kind: 'dense', params: { hnsw_config: hnsw, quantization_config: quantization } }) as never;

  it('C4.4 are those of the vectors too that have their own', () => {
    const change = { ...NOTHING, m: '32', efConstruct: '300', quantization: 'binary1' };
    const fields = [
      own('a', { m: 8, on_disk: true }, null),
      own('', {}, { scalar: { type: 'int8' } }),
      own('follows', {}, null),
      { name: 'words', kind: 'sparse' } as const,
    ];
    const ofCollection = { hnsw_config: { m: 32, ef_construct: 300 }, quantization_config: { binary: {} } };
    expect(changeOf(change, undefined, fields)).toEqual({
      ...ofCollection,
      vectors: { a: { hnsw_config: { m: 32 } }, '': { quantization_config: { binary: {} } } },
    });
    expect(changeOf({ ...NOTHING, residency: 'hot' }, undefined, fields)).toEqual({ residency: 'hot' });
    // The JSON counts, for the vectors too.
    const further = {
      hnsw_config: { m: 4 },
      vectors: { a: { on_disk: true }, '': { quantization_config: null } },
    };
    expect(changeOf(change, further, fields)).toEqual({
      ...ofCollection,
      hnsw_config: { m: 4, ef_construct: 300 },
      vectors: { a: { hnsw_config: { m: 4 }, on_disk: true }, '': { quantization_config: null } },
    });
  });
});
