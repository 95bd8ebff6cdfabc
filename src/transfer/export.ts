import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { encodeJson, parseJson } from '../client/json';
import type { ByteTransport } from '../client/transport';
import { linesOfPage, nextOffsetOf, splitPage, type PageLines } from './page';

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

/** The envelopes of the pages of a collection, in the order of their ids. The next one is on its way while one is used. */
async function* envelopesOf(options: ExportOptions): AsyncGenerator<Uint8Array> {
  const { transport, collection, filter, withVectors, pagePoints } = options;
  const body = { limit: pagePoints, with_payload: true, with_vector: withVectors, filter };
  const ask = (offset: string | undefined): Promise<Uint8Array> => {
    const from = offset === undefined ? {} : { offset: parseJson(offset) };
    const page = transport.executeBytes({ operation: 'scroll', collection, body: { ...body, ...from } });
    // Its failure is of whoever waits for it.
    page.catch(() => undefined);
    return page;
  };
  let next: Promise<Uint8Array> | undefined = ask(undefined);
  while (next !== undefined) {
    const envelope: Uint8Array = await next;
    const offset = nextOffsetOf(envelope);
    next = offset === undefined ? undefined : ask(offset);
    yield envelope;
  }
}

/** The points of a collection, page by page in the order of their ids, each as JSON. */
export async function* pagesOf(options: ExportOptions): AsyncGenerator<readonly Buffer[]> {
  let points = 0;
  for await (const envelope of envelopesOf(options)) {
    const page = splitPage(envelope).points;
    yield page;
    points += page.length;
    options.progressed(points);
  }
}

/** Writes one point a line, as an import reads it. Resolves with their number. */
export async function exportLines(options: ExportOptions, output: Writable): Promise<number> {
  let points = 0;
  for await (const envelope of envelopesOf(options)) {
    const page = options.withVectors ? linesOfPage(envelope) : linesWithoutVectors(envelope);
    if (!output.write(page.lines)) {
      await once(output, 'drain');
    }
    points += page.points;
    options.progressed(points);
  }
  return points;
}

function linesWithoutVectors(envelope: Uint8Array): PageLines {
  const { points } = splitPage(envelope);
  const lines = points.map((point) => `${withoutVector(point)}\n`);
  return { lines: Buffer.from(lines.join('')), points: points.length };
}

/** An import needs to be told that a point has no vectors. */
function withoutVector(point: Buffer): string {
  const { id, payload } = parseJson(point.toString()) as { id: unknown; payload: unknown };
  return encodeJson({ id, vector: {}, payload });
}
