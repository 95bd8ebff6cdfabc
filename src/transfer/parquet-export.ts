import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { SchemaElement } from 'hyparquet' with { 'resolution-mode': 'import' };
import type { ColumnSource } from 'hyparquet-writer' with { 'resolution-mode': 'import' };
import { pagesOf, type ExportOptions } from './export';
import { fieldsOf } from './page';
import {
  columnsOf,
  ID_COLUMN,
  METADATA_KEY,
  PAYLOAD_COLUMN,
  type PointColumns,
  type VectorKind,
} from './parquet-points';

/** Rows of a row group, components of all its vectors, and bytes of its payloads, at most. */
const GROUP_ROWS = 20_000;
const GROUP_COMPONENTS = 2_000_000;
const GROUP_BYTES = 32 * 1024 * 1024;

/** Writes one point a row, as an import reads it. Resolves with their number. */
export async function exportParquet(options: ExportOptions, output: Writable): Promise<number> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
  const columns = await columnsOfCollection(options);
  const bytes = new ByteWriter(1 << 20);
  const flush = async (): Promise<void> => {
    const written = Buffer.from(bytes.getBytes());
    bytes.index = 0;
    if (!output.write(written)) await once(output, 'drain');
  };
  const writer = new ParquetWriter({
    writer: Object.assign(bytes, { flush, finish: flush }),
    schema: schemaOf(columns),
    kvMetadata: [{ key: METADATA_KEY, value: JSON.stringify(columns) }],
    createdBy: 'kithdb',
  });
  const group = new RowGroup(columns);
  let points = 0;
  for await (const page of pagesOf(options)) {
    for (const point of page) {
      group.add(point);
      if (group.isFull) await writer.write(group.take());
    }
    points += page.length;
  }
  if (!group.isEmpty) await writer.write(group.take());
  await writer.finish();
  return points;
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

type Vector = number[] | number[][] | SparseVector;

/** Points that are written together. */
class RowGroup {
  #ids: string[] = [];
  #payloads: string[] = [];
  #vectors: unknown[][];
  #components = 0;
  #bytes = 0;

  constructor(private readonly columns: PointColumns) {
    this.#vectors = columns.vectors.map(() => []);
  }

  get isEmpty(): boolean {
    return this.#ids.length === 0;
  }

  get isFull(): boolean {
    return (
      this.#ids.length >= GROUP_ROWS || this.#components >= GROUP_COMPONENTS || this.#bytes >= GROUP_BYTES
    );
  }

  add(point: Buffer): void {
    const fields = fieldsOf(point);
    const id = fields.get('id')?.toString() ?? '';
    this.#ids.push(id.startsWith('"') ? (JSON.parse(id) as string) : id);
    const payload = fields.get('payload')?.toString() ?? 'null';
    this.#payloads.push(payload === 'null' ? '{}' : payload);
    this.#bytes += payload.length;
    const text = fields.get('vector')?.toString() ?? '{}';
    const vector = JSON.parse(text) as Vector | Readonly<Record<string, Vector | undefined>>;
    for (const [at, { field, kind }] of this.columns.vectors.entries()) {
      const one = field === '' && Array.isArray(vector) ? vector : byName(vector, field);
      this.#vectors[at]?.push(one === undefined ? null : this.#valueOf(one, kind));
    }
  }

  #valueOf(vector: Vector, kind: VectorKind): unknown {
    if (kind === 'sparse') {
      const { indices, values } = vector as SparseVector;
      this.#components += 2 * indices.length;
      return { indices: indices.map(BigInt), values };
    }
    const rows = vector as readonly (number | readonly number[])[];
    this.#components += rows.reduce<number>(
      (sum, row) => sum + (typeof row === 'number' ? 1 : row.length),
      0,
    );
    return vector;
  }

  /** The points as columns, which are new ones from then on. */
  take(): { readonly columnData: ColumnSource[]; readonly rowGroupSize: number } {
    const rows = this.#ids.length;
    const columnData = [
      { name: ID_COLUMN, data: this.#ids, encoding: 'PLAIN' as const },
      // Components hardly repeat: neither a dictionary nor packing makes them shorter.
      ...this.columns.vectors.map(({ column }, at) => ({
        name: column,
        data: this.#vectors[at] ?? [],
        encoding: 'PLAIN' as const,
        codec: 'UNCOMPRESSED' as const,
        statistics: false,
      })),
      { name: PAYLOAD_COLUMN, data: this.#payloads, encoding: 'PLAIN' as const, statistics: false },
    ];
    this.#ids = [];
    this.#payloads = [];
    this.#vectors = this.columns.vectors.map(() => []);
    this.#components = 0;
    this.#bytes = 0;
    return { columnData, rowGroupSize: rows };
  }
}

function byName(vector: unknown, field: string): Vector | undefined {
  return Array.isArray(vector) ? undefined : (vector as Readonly<Record<string, Vector | undefined>>)[field];
}
