import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { encodeJson, parseJson } from '../client/json';
import type { ByteTransport } from '../client/transport';
import { splitPage } from './page';

/** What an export reads. */
export interface ExportOptions {
  readonly transport: ByteTransport;
  readonly collection: string;
  /** A filter (C7), as JSON. */
  readonly filter: unknown;
  readonly withVectors: boolean;
  /** Points of one page. */
  readonly pagePoints: number;
  readonly progressed: (points: number) => void;
}

/** The points of a collection, page by page in the order of their ids, each as JSON. */
export async function* pagesOf(options: ExportOptions): AsyncGenerator<readonly Buffer[]> {
  const { transport, collection, filter, withVectors, pagePoints } = options;
  let offset: string | undefined;
  let points = 0;
  do {
    const body = { limit: pagePoints, with_payload: true, with_vector: withVectors, filter };
    const envelope = await transport.executeBytes({
      operation: 'scroll',
      collection,
      body: offset === undefined ? body : { ...body, offset: parseJson(offset) },
    });
    const page = splitPage(envelope);
    yield page.points;
    points += page.points.length;
    options.progressed(points);
    offset = page.nextOffset;
  } while (offset !== undefined);
}

const LINE_BREAK = Buffer.from('\n');

/** Writes one point a line, as an import reads it. Resolves with their number. */
export async function exportLines(options: ExportOptions, output: Writable): Promise<number> {
  let points = 0;
  for await (const page of pagesOf(options)) {
    const lines = options.withVectors ? page : page.map(withoutVector);
    points += lines.length;
    const text = Buffer.concat(lines.flatMap((line) => [line, LINE_BREAK]));
    if (!output.write(text)) {
      await once(output, 'drain');
    }
  }
  return points;
}

/** An import needs to be told that a point has no vectors. */
function withoutVector(point: Buffer): Buffer {
  const { id, payload } = parseJson(point.toString()) as { id: unknown; payload: unknown };
  return Buffer.from(encodeJson({ id, vector: {}, payload }));
}
