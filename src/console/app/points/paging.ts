/** Pages of points by id, each from the offset that the one before gave. */
import type { Page, PointId } from '../service/types';

/** Where a page begins. */
interface Start {
  readonly offset: PointId;
  /** Points of the pages before. */
  readonly before: number;
}

/** The beginnings of a page and of those before it; the first page has none. */
export type Starts = readonly Start[];

/** A page that was read, and where it begins. */
export interface ShownPage {
  readonly starts: Starts;
  readonly page: Page;
}

/** Reads the last page of some; where its points are gone by now, the page before, with other `starts`. */
export async function readPage(
  starts: Starts,
  read: (offset: PointId | undefined) => Promise<Page>,
): Promise<ShownPage> {
  const page = await read(offsetOf(starts));
  return page.points.length === 0 && starts.length > 0
    ? readPage(starts.slice(0, -1), read)
    : { starts, page };
}

export function offsetOf(starts: Starts): PointId | undefined {
  return starts.at(-1)?.offset;
}

/** The place of the first point of a page in the list, from 1. */
export function firstOf({ starts }: ShownPage): number {
  return (starts.at(-1)?.before ?? 0) + 1;
}

/** The next page; undefined behind the last. */
export function startsAfter({ starts, page }: ShownPage): Starts | undefined {
  const { points, next_page_offset: offset } = page;
  if (offset === null) return undefined;
  return [...starts, { offset, before: (starts.at(-1)?.before ?? 0) + points.length }];
}

/** The page before; undefined for the first. */
export function startsBefore({ starts }: ShownPage): Starts | undefined {
  return starts.length === 0 ? undefined : starts.slice(0, -1);
}
