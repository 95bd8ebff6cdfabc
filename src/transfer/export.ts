import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { encodeJson } from '../client/json';
import type { Transport } from '../client/transport';

/** What an export reads. */
export interface ExportOptions {
  readonly transport: Transport;
  readonly collection: string;
  /** A filter (C7), as JSON. */
  readonly filter: unknown;
  readonly withVectors: boolean;
  /** Points of one page. */
  readonly pagePoints: number;
  readonly progressed: (points: number) => void;
}

interface Page {
  readonly points: readonly Record<string, unknown>[];
  readonly next_page_offset: unknown;
}

/** The pages of a collection in the order of its ids. */
export async function* pagesOf(options: ExportOptions): AsyncGenerator<readonly Record<string, unknown>[]> {
  const { transport, collection, filter, withVectors, pagePoints } = options;
  let offset: unknown;
  let points = 0;
  do {
    const { result } = await transport.execute({
      operation: 'scroll',
      collection,
      body: { limit: pagePoints, with_payload: true, with_vector: withVectors, filter, offset },
    });
    const page = result as Page;
    yield page.points;
    points += page.points.length;
    options.progressed(points);
    offset = page.next_page_offset;
  } while (offset !== null && offset !== undefined);
}

/** Writes one point a line, as an import reads it. Resolves with their number. */
export async function exportLines(options: ExportOptions, output: Writable): Promise<number> {
  let points = 0;
  for await (const page of pagesOf(options)) {
    const lines = page.map(({ id, payload, vector }) => encodeJson({ id, vector: vector ?? {}, payload }));
    points += lines.length;
    if (lines.length > 0 && !output.write(`${lines.join('\n')}\n`)) {
      await once(output, 'drain');
    }
  }
  return points;
}
