import { useEffect, useRef, useState } from 'preact/hooks';
import type { Colouring } from './colours';
import type { MapPoint } from './sample';

interface Props {
  readonly points: readonly MapPoint[];
  readonly colouring: Colouring;
  /** Places in `points`. */
  readonly marked: ReadonlySet<number>;
  readonly chosen: number | undefined;
  readonly choose: (index: number) => void;
  readonly lasso: (indexes: readonly number[]) => void;
}

type Place = readonly [x: number, y: number];

const MARGIN = 16;
const RADIUS = 3;
/** A press that moves less is a click. */
const CLICK_PIXELS = 5;
const REACH_PIXELS = 14;

/** Where each point is on the canvas. The axes have one scale, so distances can be compared. */
function layOut(points: readonly MapPoint[], width: number, height: number): readonly Place[] {
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  const [left, right] = [least(xs), -least(xs.map((x) => -x))];
  const [low, high] = [least(ys), -least(ys.map((y) => -y))];
  const scale = Math.min(
    (width - 2 * MARGIN) / Math.max(right - left, 1e-12),
    (height - 2 * MARGIN) / Math.max(high - low, 1e-12),
  );
  return points.map(({ x, y }) => [
    width / 2 + (x - (left + right) / 2) * scale,
    height / 2 - (y - (low + high) / 2) * scale,
  ]);
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

/** Points by colour in one path each: thousands of them are drawn in a few milliseconds. */
function draw(
  context: CanvasRenderingContext2D,
  places: readonly Place[],
  path: readonly Place[],
  props: Props,
): void {
  const { points, colouring, marked, chosen } = props;
  const { width, height } = context.canvas.getBoundingClientRect();
  context.clearRect(0, 0, width, height);
  const groups = new Map<string, Path2D>();
  places.forEach(([x, y], index) => {
    const point = points[index];
    if (point === undefined) return;
    const isFaint = marked.size > 0 && !marked.has(index) && index !== chosen;
    const key = `${colouring.of(point)}${isFaint ? ' faint' : ''}`;
    const group = groups.get(key) ?? new Path2D();
    groups.set(key, group);
    group.moveTo(x + RADIUS, y);
    group.arc(x, y, RADIUS, 0, 2 * Math.PI);
  });
  for (const [key, group] of groups) {
    const [colour = ''] = key.split(' faint');
    context.globalAlpha = key.endsWith(' faint') ? 0.15 : 0.8;
    context.fillStyle = colour;
    context.fill(group);
  }
  context.globalAlpha = 1;
  context.strokeStyle = getComputedStyle(context.canvas).color;
  const at = chosen === undefined ? undefined : places[chosen];
  if (at !== undefined) {
    context.lineWidth = 2;
    context.beginPath();
    context.arc(at[0], at[1], RADIUS + 4, 0, 2 * Math.PI);
    context.stroke();
  }
  if (path.length > 1) {
    context.lineWidth = 1.5;
    context.beginPath();
    path.forEach(([x, y]) => {
      context.lineTo(x, y);
    });
    context.closePath();
    context.stroke();
  }
}

/** Whether a place is inside of a path: a ray from it crosses the path an odd number of times. */
function isInside([x, y]: Place, path: readonly Place[]): boolean {
  let inside = false;
  path.forEach(([x1, y1], index) => {
    const [x2, y2] = path.at(index - 1) ?? [x1, y1];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  });
  return inside;
}

function nearest(places: readonly Place[], [x, y]: Place): number | undefined {
  let best: number | undefined;
  let reach = REACH_PIXELS;
  places.forEach(([px, py], index) => {
    const distance = Math.hypot(px - x, py - y);
    if (distance < reach) [best, reach] = [index, distance];
  });
  return best;
}

/** Points on a plane: a click chooses one, a drag draws a lasso. */
export function Plot(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const places = useRef<readonly Place[]>([]);
  const path = useRef<Place[]>([]);
  const redraw = (): void => {
    const context = canvas.current?.getContext('2d');
    if (context) draw(context, places.current, path.current, props);
  };
  useEffect(() => watchSize(canvas.current, setSize), []);
  useEffect(() => {
    const element = canvas.current;
    const ratio = window.devicePixelRatio;
    if (element === null) return;
    element.width = Math.round(size.width * ratio);
    element.height = Math.round(size.height * ratio);
    element.getContext('2d')?.scale(ratio, ratio);
    places.current = layOut(props.points, size.width, size.height);
  }, [size, props.points]);
  useEffect(redraw, [size, props.points, props.colouring, props.marked, props.chosen]);
  const placeOf = (event: PointerEvent): Place => [event.offsetX, event.offsetY];
  return (
    <canvas
      ref={canvas}
      class="map"
      role="img"
      aria-label={`${props.points.length} points on a plane. The point is chosen by its id in the field below, too.`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        path.current = [placeOf(event)];
      }}
      onPointerMove={(event) => {
        if (path.current.length === 0) return;
        path.current.push(placeOf(event));
        redraw();
      }}
      onPointerUp={(event) => {
        const drawn = path.current;
        path.current = [];
        release(drawn, placeOf(event), places.current, props);
        redraw();
      }}
    />
  );
}

function watchSize(
  element: HTMLCanvasElement | null,
  set: (size: { width: number; height: number }) => void,
): (() => void) | undefined {
  if (element === null) return undefined;
  const watcher = new ResizeObserver(() => {
    set({ width: element.clientWidth, height: element.clientHeight });
  });
  watcher.observe(element);
  return () => {
    watcher.disconnect();
  };
}

function release(
  drawn: readonly Place[],
  end: Place,
  places: readonly Place[],
  { choose, lasso }: Props,
): void {
  const [from] = drawn;
  if (from === undefined) return;
  if (drawn.every(([x, y]) => Math.hypot(x - from[0], y - from[1]) < CLICK_PIXELS)) {
    const found = nearest(places, end);
    if (found === undefined) lasso([]);
    else choose(found);
    return;
  }
  lasso(places.flatMap((place, index) => (isInside(place, drawn) ? [index] : [])));
}
