/** Which part of the plane is seen, and what is where on the canvas. */

export interface View {
  /** Pixels of the canvas. */
  readonly width: number;
  readonly height: number;
  /** The place in the plane that is in the middle. */
  readonly x: number;
  readonly y: number;
  /** Pixels for a unit of the plane. */
  readonly scale: number;
  /** How far points lie from the origin, along each axis. */
  readonly extent: Extent;
}

export type Extent = readonly [x: number, y: number];

export type Pixel = readonly [x: number, y: number];

const MARGIN = 18;
const MAX_ZOOM = 400;

/** All points. */
export function whole(width: number, height: number, extent: Extent): View {
  const scale = leastScale({ width, height, extent });
  return { width, height, x: 0, y: 0, scale, extent };
}

/** At which all points are seen. */
function leastScale({ width, height, extent: [x, y] }: Pick<View, 'width' | 'height' | 'extent'>): number {
  const along = (pixels: number, most: number): number => (pixels / 2 - MARGIN) / Math.max(most, 1e-6);
  return Math.max(1, Math.min(along(width, x), along(height, y)));
}

/** How far places lie from the origin. */
export function extentOf(places: Float32Array): Extent {
  let [x, y] = [0, 0];
  for (let at = 0; at < places.length; at += 2) {
    x = Math.max(x, Math.abs(places[at] ?? 0));
    y = Math.max(y, Math.abs(places[at + 1] ?? 0));
  }
  return [x, y];
}

/** The view of the same part of the plane on a canvas of another size. */
export function resized(view: View, width: number, height: number): View {
  if (view.width === 0 || view.height === 0) return whole(width, height, view.extent);
  const zoom = view.scale / leastScale(view);
  return { ...view, width, height, scale: leastScale({ width, height, extent: view.extent }) * zoom };
}

/** Larger or smaller by a factor; what is at a pixel stays there. */
export function zoomed(
  view: View,
  factor: number,
  [px, py]: Pixel = [view.width / 2, view.height / 2],
): View {
  const least = leastScale(view);
  const scale = Math.min(Math.max(view.scale * factor, least / 2), least * MAX_ZOOM);
  const [dx, dy] = [px - view.width / 2, view.height / 2 - py];
  return {
    ...view,
    scale,
    x: view.x + dx / view.scale - dx / scale,
    y: view.y + dy / view.scale - dy / scale,
  };
}

export function moved(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x - dx / view.scale, y: view.y + dy / view.scale };
}

/** Where a point of the plane is on the canvas. */
export function pixelOf(view: View, places: Float32Array, at: number): Pixel {
  return [
    view.width / 2 + ((places[at * 2] ?? 0) - view.x) * view.scale,
    view.height / 2 - ((places[at * 2 + 1] ?? 0) - view.y) * view.scale,
  ];
}

/** How large points are, in pixels: smaller where there are many, larger where little is seen. */
export function diameterOf(view: View, count: number): number {
  const least = leastScale(view);
  const base = count <= 2_000 ? 7 : count <= 10_000 ? 5 : count <= 50_000 ? 3.5 : 2.6;
  return Math.min(10, base * Math.max(1, view.scale / least) ** 0.35);
}

const REACH_PIXELS = 14;

/** The point that is nearest to a pixel, if one is near. */
export function nearest(view: View, places: Float32Array, [px, py]: Pixel): number | undefined {
  const x = view.x + (px - view.width / 2) / view.scale;
  const y = view.y + (view.height / 2 - py) / view.scale;
  let best: number | undefined;
  let reach = (REACH_PIXELS / view.scale) ** 2;
  for (let at = 0; at < places.length; at += 2) {
    const distance = ((places[at] ?? 0) - x) ** 2 + ((places[at + 1] ?? 0) - y) ** 2;
    if (distance < reach) {
      reach = distance;
      best = at / 2;
    }
  }
  return best;
}

/** Points of a map that are marked. */
export interface Marks {
  /** For each point of the list 1 where it is marked, else 0. */
  readonly flags: Uint8Array;
  readonly count: number;
}

/** The marks of a list of `count` points of which those at `places` are marked. */
export function marksOf(count: number, places: readonly number[]): Marks {
  const flags = new Uint8Array(count);
  for (const at of places) flags[at] = 1;
  return { flags, count: places.length };
}

/** Points that are looked up in one frame: they take it a few milliseconds. */
const POINTS_A_FRAME = 20_000;

/**
 * The points inside of a path. It is filled on a canvas first, so that long paths and many points are no work together, and
 * the points are looked up over several frames.
 */
export async function inside(view: View, places: Float32Array, path: readonly Pixel[]): Promise<Marks> {
  const mask = maskOf(view, path);
  const total = places.length / 2;
  const flags = new Uint8Array(total);
  let count = 0;
  for (let first = 0; mask !== undefined && first < total; first += POINTS_A_FRAME) {
    await new Promise(requestAnimationFrame);
    count += markInside(mask, view, places, flags, first, Math.min(first + POINTS_A_FRAME, total));
  }
  return { flags, count };
}

/** Which pixels of a part of the canvas are inside of a path: four bytes for each, of which the last says it. */
interface Mask {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

/** The part of the canvas that a path covers; undefined where it covers none. */
function maskOf(view: View, path: readonly Pixel[]): Mask | undefined {
  const along = (axis: 0 | 1, pixels: number): readonly [start: number, length: number] => {
    const values = path.map((corner) => corner[axis]);
    const start = Math.max(0, Math.floor(Math.min(...values)));
    return [start, Math.min(Math.ceil(pixels), Math.ceil(Math.max(...values)) + 1) - start];
  };
  const [left, width] = along(0, view.width);
  const [top, height] = along(1, view.height);
  if (!(width > 0 && height > 0)) return undefined;
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (context === null) return undefined;
  context.beginPath();
  for (const [x, y] of path) context.lineTo(x - left, y - top);
  context.fill('evenodd');
  return { left, top, width, height, data: context.getImageData(0, 0, width, height).data };
}

/** Marks the points of a part of the list that are inside; gives how many. */
function markInside(
  { left, top, width, height, data }: Mask,
  view: View,
  places: Float32Array,
  flags: Uint8Array,
  first: number,
  end: number,
): number {
  let count = 0;
  // Written out: a pair for each of a hundred thousand points would take most of the time.
  for (let at = first; at < end; at += 1) {
    const x = Math.floor(view.width / 2 + ((places[at * 2] ?? 0) - view.x) * view.scale) - left;
    const y = Math.floor(view.height / 2 - ((places[at * 2 + 1] ?? 0) - view.y) * view.scale) - top;
    const isSeen = x >= 0 && y >= 0 && x < width && y < height;
    if (isSeen && (data[(y * width + x) * 4 + 3] ?? 0) > 127) {
      flags[at] = 1;
      count += 1;
    }
  }
  return count;
}
