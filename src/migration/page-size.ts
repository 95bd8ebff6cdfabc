/** Bytes that a page of points should have. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Points of the first page, whose size nobody knows. */
const FIRST_POINTS = 64;

/** How many points to ask for at a time: as many as make a page of about 4 MiB, by the size of the last page. */
export class PageSize {
  points: number;

  constructor(private readonly most: number) {
    this.points = Math.min(FIRST_POINTS, most);
  }

  /** Notes what a page had. */
  learn(points: number, bytes: number): void {
    if (points > 0) {
      this.points = Math.max(1, Math.min(this.most, Math.floor((PAGE_BYTES * points) / Math.max(1, bytes))));
    }
  }
}
