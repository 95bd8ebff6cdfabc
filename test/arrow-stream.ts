/** Arrow IPC streams of points, as apache-arrow writes them. */
import {
  Field,
  FixedSizeList,
  Float32,
  List,
  Struct,
  Table,
  tableToIPC,
  Uint32,
  Uint64,
  vectorFromArray,
  type DataType,
  type Vector,
} from 'apache-arrow';

/** The content type of such a body. */
export const ARROW = { 'content-type': 'application/vnd.apache.arrow.stream' };

/** The stream of a table of these columns. */
export function streamOf(columns: Readonly<Record<string, Vector>>): Buffer {
  return Buffer.from(tableToIPC(new Table(columns), 'stream'));
}

/** A column of ids. */
export function ids(values: readonly (number | bigint)[]): Vector {
  return vectorFromArray(values.map(BigInt), new Uint64());
}

/** A column of dense vectors of one length, of 32-bit floats unless `component` says otherwise. */
export function dense(
  rows: readonly (readonly number[] | null)[],
  component: DataType = new Float32(),
): Vector {
  const length = rows.find((row) => row !== null)?.length ?? 0;
  return vectorFromArray([...rows], new FixedSizeList(length, item(component)));
}

/** A column of multi-vectors. */
export function multi(rows: readonly (readonly (readonly number[])[])[]): Vector {
  const length = rows[0]?.[0]?.length ?? 0;
  return vectorFromArray([...rows], new List(item(new FixedSizeList(length, item(new Float32())))));
}

/** A column of sparse vectors. */
export function sparse(
  rows: readonly { readonly indices: readonly number[]; readonly values: readonly number[] }[],
): Vector {
  const fields = [
    new Field('indices', new List(item(new Uint32()))),
    new Field('values', new List(item(new Float32()))),
  ];
  return vectorFromArray([...rows], new Struct(fields as never));
}

function item<T extends DataType>(type: T): Field<T> {
  return new Field('item', type, true);
}
