import type { Writable } from 'node:stream';
import type { SchemaElement } from 'hyparquet' with { 'resolution-mode': 'import' };
import { Pages, type Exported, type ExportOptions } from './export';
import { FloatLists } from './float-lists';
import { fieldsOf } from './page';
import { ParquetFileWriter, type GroupColumn } from './parquet-file';
import {
  columnsOf,
  ID_COLUMN,
  METADATA_KEY,
  PAYLOAD_COLUMN,
  textOfId,
  type PointColumns,
  type VectorKind,
} from './parquet-points';

/** Rows of a row group, components of all its vectors, and bytes of its payloads, at most. */
const GROUP_ROWS = 20_000;
const GROUP_COMPONENTS = 2_000_000;
const GROUP_BYTES = 32 * 1024 * 1024;

/** Writes one point a row, as an import reads it. */
export async function exportParquet(options: ExportOptions, output: Writable): Promise<Exported> {
  const columns = await columnsOfCollection(options);
  const metadata = { key: METADATA_KEY, value: JSON.stringify(columns) };
  const writer = await ParquetFileWriter.begin(output, schemaOf(columns), metadata);
  const group = new RowGroup(columns);
  const write = async (): Promise<void> => {
    await writer.writeGroup(group.rows, group.columnData());
    group.clear();
  };
  const pages = new Pages(options);
  let points = 0;
  for await (const page of pages.points()) {
    for (const point of page) {
      group.add(point);
      if (group.isFull) await write();
    }
    points += page.length;
  }
  if (group.rows > 0) await write();
  await writer.finish();
  return { points, isOneView: pages.isOneView };
}

async function columnsOfCollection(options: ExportOptions): Promise<PointColumns> {
  const { transport, collection, withVectors } = options;
  const { result } = await transport.execute({ operation: 'collection_info', collection });
  const { config } = result as { readonly config: { readonly params: Parameters<typeof columnsOf>[0] } };
  return withVectors ? columnsOf(config.params) : { version: 1, vectors: [] };
}

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

/** The schema of a file, depth first. */
function schemaOf({ vectors }: PointColumns): SchemaElement[] {
  return [
    { name: 'point', num_children: vectors.length + 2 },
    { name: ID_COLUMN, repetition_type: 'REQUIRED', ...TEXT },
    ...vectors.flatMap(({ column, kind }) => SCHEMAS[kind](column)),
    { name: PAYLOAD_COLUMN, repetition_type: 'REQUIRED', ...TEXT },
  ];
}

const FLOAT: SchemaElement[] = [{ name: 'element', repetition_type: 'REQUIRED', type: 'FLOAT' }];
/** Indices have 32 bits without a sign, for which INT32 has no room. */
const INDEX: SchemaElement[] = [{ name: 'element', repetition_type: 'REQUIRED', type: 'INT64' }];

function list(name: string, element: SchemaElement[], repetition: 'OPTIONAL' | 'REQUIRED'): SchemaElement[] {
  return [
    {
      name,
      repetition_type: repetition,
      num_children: 1,
      converted_type: 'LIST',
      logical_type: { type: 'LIST' },
    },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...element,
  ];
}

const SCHEMAS: Readonly<Record<VectorKind, (column: string) => SchemaElement[]>> = {
  dense: (column) => list(column, FLOAT, 'OPTIONAL'),
  multi: (column) => list(column, list('element', FLOAT, 'REQUIRED'), 'OPTIONAL'),
  sparse: (column) => [
    { name: column, repetition_type: 'OPTIONAL', num_children: 2 },
    ...list('indices', INDEX, 'REQUIRED'),
    ...list('values', FLOAT, 'REQUIRED'),
  ],
};

interface SparseVector {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

/** The values of a column, and how one is added from its JSON. */
class VectorColumn {
  readonly #lists = new FloatLists();
  #values: unknown[] = [];

  constructor(private readonly kind: VectorKind) {}

  /** Adds a vector; undefined for a point without one. Its components, for the size of the group. */
  add(json: Buffer | undefined): number {
    if (this.kind === 'dense') {
      if (json === undefined) this.#lists.addAbsent();
      else this.#lists.add(json);
      return Math.max(this.#lists.lengths.at(-1) ?? 0, 0);
    }
    if (json === undefined) {
      this.#values.push(null);
      return 0;
    }
    const value = JSON.parse(json.toString()) as readonly (readonly number[])[] | SparseVector;
    if ('indices' in value) {
      this.#values.push({ indices: value.indices.map(BigInt), values: value.values });
      return 2 * value.indices.length;
    }
    this.#values.push(value);
    return value.reduce((sum, row) => sum + row.length, 0);
  }

  data(): { readonly lists: FloatLists } | { readonly values: readonly unknown[] } {
    return this.kind === 'dense' ? { lists: this.#lists } : { values: this.#values };
  }

  clear(): void {
    this.#lists.clear();
    this.#values = [];
  }
}

/** Points that are written together. */
class RowGroup {
  #ids: string[] = [];
  #payloads: Buffer[] = [];
  readonly #vectors: readonly VectorColumn[];
  /** The names of the fields as JSON writes them. */
  readonly #names: readonly string[];
  #components = 0;
  #bytes = 0;

  constructor(private readonly columns: PointColumns) {
    this.#vectors = columns.vectors.map(({ kind }) => new VectorColumn(kind));
    this.#names = columns.vectors.map(({ field }) => JSON.stringify(field).slice(1, -1));
  }

  get rows(): number {
    return this.#ids.length;
  }

  get isFull(): boolean {
    return this.rows >= GROUP_ROWS || this.#components >= GROUP_COMPONENTS || this.#bytes >= GROUP_BYTES;
  }

  add(point: Buffer): void {
    const fields = fieldsOf(point);
    this.#ids.push(textOfId(fields.get('id')?.toString() ?? ''));
    const payload = fields.get('payload');
    // A copy, which does not keep the page.
    const kept = payload === undefined || payload.equals(NULL) ? EMPTY : Buffer.from(payload);
    this.#payloads.push(kept);
    this.#bytes += kept.length;
    const vector = fields.get('vector');
    const isObject = vector?.[0] === OPEN;
    const named = isObject ? fieldsOf(vector) : undefined;
    for (const [at, column] of this.#vectors.entries()) {
      const name = this.#names[at] ?? '';
      const json = isObject ? named?.get(name) : name === '' ? vector : undefined;
      this.#components += column.add(json);
    }
  }

  columnData(): readonly GroupColumn[] {
    return [
      { name: ID_COLUMN, values: this.#ids, isPacked: true, hasStatistics: true },
      // Components hardly repeat: packing does not make them shorter.
      ...this.columns.vectors.map(({ column }, at) => ({
        ...{ name: column, isPacked: false, hasStatistics: false },
        ...(this.#vectors[at]?.data() ?? { values: [] }),
      })),
      { name: PAYLOAD_COLUMN, values: this.#payloads, isPacked: true, hasStatistics: false },
    ];
  }

  clear(): void {
    this.#ids = [];
    this.#payloads = [];
    this.#vectors.forEach((column) => {
      column.clear();
    });
    this.#components = 0;
    this.#bytes = 0;
  }
}

const OPEN = 0x7b;
const NULL = Buffer.from('null');
const EMPTY = Buffer.from('{}');
