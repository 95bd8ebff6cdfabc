import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { BadRequestError, NotFoundError, OverloadedError } from '../client/errors';
import { parseJson } from '../client/json';
import type { ByteTransport } from '../client/transport';
import { fieldsOf, linesOfPage, nextPageOf, splitPage, type NextPage, type PageLines } from './page';
import { SourceError } from './row';

/** What an export reads. */
export interface ExportOptions {
  readonly transport: ByteTransport;
  readonly collection: string;
  /** A filter (C7), as JSON. */
  readonly filter: unknown;
  readonly withVectors: boolean;
  /** Points of one page. */
  readonly pagePoints: number;
  /** Whether the export fails where the pages cannot be of one view; else it goes on, and says so. */
  readonly needsOneView: boolean;
  readonly progressed: (points: number) => void;
}

/** What was exported. */
export interface Exported {
  readonly points: number;
  /** Whether all points are of one state of the collection. */
  readonly isOneView: boolean;
}

/** How long a view is kept for the next page: what a reader of the output may pause, and how long an export that was killed holds it. */
const VIEW_SECONDS = 300;

/** The pages of a collection in the order of its ids, all of the view that the first one saw (C22) where views are kept. */
export class Pages {
  #isOneView = true;

  constructor(private readonly options: ExportOptions) {}

  /** Whether all pages that were read are of one view. */
  get isOneView(): boolean {
    return this.#isOneView;
  }

  /** The envelopes of the pages. The next one is on its way while one is used. */
  async *envelopes(): AsyncGenerator<Uint8Array> {
    let next: Promise<Uint8Array> | undefined = this.#ask(undefined);
    while (next !== undefined) {
      const envelope: Uint8Array = await next;
      const page = nextPageOf(envelope);
      next = page.offset === undefined ? undefined : this.#ask(page);
      yield envelope;
    }
  }

  /** The points, page by page, each as JSON. */
  async *points(): AsyncGenerator<readonly Buffer[]> {
    let points = 0;
    for await (const envelope of this.envelopes()) {
      const page = splitPage(envelope).points;
      yield page;
      points += page.length;
      this.options.progressed(points);
    }
  }

  #ask(page: NextPage | undefined): Promise<Uint8Array> {
    const asked = this.#page(page);
    // Handled where the page is awaited.
    asked.catch(() => undefined);
    return asked;
  }

  async #page(page: NextPage | undefined): Promise<Uint8Array> {
    if (page !== undefined && page.cursor === undefined) {
      // The server passed over the wish for a view.
      this.#goOnWithoutView();
    }
    if (this.#isOneView) {
      try {
        const cursor = { cursor: page?.cursor ?? { ttl: VIEW_SECONDS } };
        return await this.#scroll(page === undefined ? { ...this.#body(), ...cursor } : cursor);
      } catch (error) {
        if (!isAboutView(error, page === undefined, this.options.needsOneView)) throw error;
        this.#goOnWithoutView();
      }
    }
    const from = page?.offset === undefined ? {} : { offset: parseJson(page.offset) };
    return this.#scroll({ ...this.#body(), ...from });
  }

  /** @throws SourceError where a view is needed */
  #goOnWithoutView(): void {
    if (this.options.needsOneView) {
      throw new SourceError(
        `The view that the export read has ended: another process took the folder over, the collection was deleted, or the output was not read for ${VIEW_SECONDS} s. Export again.`,
      );
    }
    this.#isOneView = false;
  }

  #body(): Readonly<Record<string, unknown>> {
    const { filter, withVectors, pagePoints } = this.options;
    return { limit: pagePoints, with_payload: true, with_vector: withVectors, filter };
  }

  #scroll(body: object): Promise<Uint8Array> {
    const { transport, collection } = this.options;
    return transport.executeBytes({ operation: 'scroll', collection, body });
  }
}

/**
 * Whether a failure is about the view: it has ended, or the first page found that the server knows none or keeps no more of
 * them. Where it is about something else the page without a view fails as well.
 */
function isAboutView(error: unknown, isFirst: boolean, needsOneView: boolean): boolean {
  if (isFirst) {
    return !needsOneView && (error instanceof BadRequestError || error instanceof OverloadedError);
  }
  return error instanceof NotFoundError;
}

/** Writes one point a line, as an import reads it. */
export async function exportLines(options: ExportOptions, output: Writable): Promise<Exported> {
  const pages = new Pages(options);
  let points = 0;
  for await (const envelope of pages.envelopes()) {
    const page = options.withVectors ? linesOfPage(envelope) : linesWithoutVectors(envelope);
    if (!output.write(page.lines)) {
      await once(output, 'drain');
    }
    points += page.points;
    options.progressed(points);
  }
  return { points, isOneView: pages.isOneView };
}

function linesWithoutVectors(envelope: Uint8Array): PageLines {
  const { points } = splitPage(envelope);
  const lines = points.map((point) => `${withoutVector(point)}\n`);
  return { lines: Buffer.from(lines.join('')), points: points.length };
}

/** An import requires an explicit mark that a point has no vectors. Id and payload stay as they were written. */
function withoutVector(point: Buffer): string {
  const fields = fieldsOf(point);
  return `{"id":${String(fields.get('id'))},"vector":{},"payload":${String(fields.get('payload') ?? null)}}`;
}
