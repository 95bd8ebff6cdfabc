import { useEffect, useRef, useState } from 'preact/hooks';
import { Segments } from '../parts/form';
import type { Colouring } from './colours';
import { painterFor } from './painter';
import type { Painter } from './scene';
import {
  diameterOf,
  extentOf,
  inside,
  moved,
  nearest,
  pixelOf,
  resized,
  whole,
  zoomed,
  type Marks,
  type Pixel,
  type View,
} from './view';

interface Props {
  /** x and y of each point in turn. */
  readonly places: Float32Array;
  readonly colouring: Colouring;
  readonly marked: Marks | undefined;
  readonly chosen: number | undefined;
  /** What is said of a point under the pointer. */
  readonly label: (at: number) => string;
  readonly choose: (at: number | undefined) => void;
  readonly lasso: (points: Marks) => void;
}

/** A press that moves less is a click. */
const CLICK_PIXELS = 5;
/** Pixels between two corners of a lasso. */
const CORNER_PIXELS = 3;
const STEP = 1.5;
const MOVING_MS = 700;

const DRAGS = [
  { value: 'mark', label: 'Mark' },
  { value: 'move', label: 'Move' },
];

/** Points on a plane: a click chooses one, a drag draws a lasso or moves the plane, a wheel zooms. */
export function Plot(props: Props) {
  const { places, marked, chosen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [view, setView] = useState<View>(() => whole(0, 0, extentOf(places)));
  useEffect(() => {
    // Another layout has another extent.
    setView((before) => whole(before.width, before.height, extentOf(places)));
  }, [places]);
  const [drag, setDrag] = useState('mark');
  usePainting(canvas, view, props);
  useSize(canvas, (width, height) => {
    setView((before) => resized(before, width, height));
  });
  useWheel(canvas, (factor, pixel) => {
    setView((before) => zoomed(before, factor, pixel));
  });
  const pointer = usePointer(view, drag === 'move', setView, props);
  const at = chosen === undefined ? undefined : pixelOf(view, places, chosen);
  const zoom = (factor: number) => () => {
    setView((before) => zoomed(before, factor));
  };
  return (
    <div class="map-frame">
      <canvas
        ref={canvas}
        class={`map ${drag}`}
        role="img"
        aria-label={`${places.length / 2} points on a plane${marked === undefined ? '' : `, ${marked.count} of them marked`}. A point is chosen by its id in the field above, too.`}
        {...pointer.handlers}
      />
      <svg class="map-over" aria-hidden="true">
        {at !== undefined && <circle cx={at[0]} cy={at[1]} r={diameterOf(view, places.length / 2) / 2 + 4} />}
        {pointer.path.length > 1 && <polygon points={pointer.path.map(([x, y]) => `${x},${y}`).join(' ')} />}
      </svg>
      {pointer.hovered !== undefined && (
        <Tip pixel={pixelOf(view, places, pointer.hovered)} text={props.label(pointer.hovered)} view={view} />
      )}
      <div class="map-tools">
        <Segments label="A drag" value={drag} choices={DRAGS} change={setDrag} />
        <button type="button" aria-label="Zoom in" onClick={zoom(STEP)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={zoom(1 / STEP)}>
          −
        </button>
        <button
          type="button"
          onClick={() => {
            setView(whole(view.width, view.height, view.extent));
          }}
        >
          All
        </button>
      </div>
    </div>
  );
}

/** What a point is, beside it. */
function Tip({ pixel: [x, y], text, view }: { pixel: Pixel; text: string; view: View }) {
  const isRight = x > view.width / 2;
  const side = isRight ? { right: `${view.width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <p class="map-tip" aria-hidden="true" style={{ ...side, top: `${y + 10}px` }}>
      {text}
    </p>
  );
}

interface CanvasRef {
  readonly current: HTMLCanvasElement | null;
}

/** Draws a frame when something has changed, and each frame while points are on their way to new places. */
function usePainting(canvas: CanvasRef, view: View, { places, colouring, marked }: Props): void {
  const painter = useRef<Painter | undefined>(undefined);
  const from = useRef(places);
  const began = useRef(-Infinity);
  const frame = useRef(0);
  const latest = useRef(view);
  latest.current = view;
  const draw = (): void => {
    const share = Math.min(1, (performance.now() - began.current) / MOVING_MS);
    // Fast at first, and slowly to its end.
    painter.current?.draw(latest.current, 1 - (1 - share) ** 3, window.devicePixelRatio);
    frame.current = share < 1 ? requestAnimationFrame(draw) : 0;
  };
  const schedule = (): void => {
    if (frame.current === 0) frame.current = requestAnimationFrame(draw);
  };
  useEffect(() => {
    if (canvas.current !== null) painter.current = painterFor(canvas.current);
    return () => {
      cancelAnimationFrame(frame.current);
      painter.current?.dispose();
    };
  }, []);
  useEffect(() => {
    const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    const { codes, palette } = colouring;
    if (from.current !== places && from.current.length === places.length && !isStill) {
      began.current = performance.now();
    } else if (from.current.length !== places.length) {
      from.current = places;
    }
    painter.current?.show({ from: from.current, to: places, codes, palette, marks: marked?.flags });
    schedule();
    return () => {
      // The next ones begin where these end.
      from.current = places;
    };
  }, [places, colouring, marked]);
  useEffect(schedule, [view]);
}

/** Keeps the pixels of the canvas those of the device. */
function useSize(canvas: CanvasRef, set: (width: number, height: number) => void): void {
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      element.width = Math.round(width * window.devicePixelRatio);
      element.height = Math.round(height * window.devicePixelRatio);
      set(width, height);
    });
    watcher.observe(element);
    return () => {
      watcher.disconnect();
    };
  }, []);
}

/** The wheel zooms; a listener of the element's properties could not keep the page from scrolling. */
function useWheel(canvas: CanvasRef, zoom: (factor: number, pixel: Pixel) => void): void {
  useEffect(() => {
    const element = canvas.current;
    const turn = (event: WheelEvent): void => {
      event.preventDefault();
      zoom(1.0015 ** -event.deltaY, [event.offsetX, event.offsetY]);
    };
    element?.addEventListener('wheel', turn, { passive: false });
    return () => {
      element?.removeEventListener('wheel', turn);
    };
  }, []);
}

/** Clicks, lassos, moves, and what is under the pointer. Shift makes a drag the other one. */
function usePointer(
  view: View,
  isMoving: boolean,
  setView: (change: (before: View) => View) => void,
  { places, choose, lasso }: Props,
) {
  const [path, setPath] = useState<readonly Pixel[]>([]);
  const [hovered, setHovered] = useState<number>();
  const press = useRef<{ readonly start: Pixel; last: Pixel; readonly moves: boolean } | undefined>(
    undefined,
  );
  const pixel = (event: PointerEvent): Pixel => [event.offsetX, event.offsetY];
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      const start = pixel(event);
      press.current = { start, last: start, moves: isMoving !== event.shiftKey || event.button === 1 };
      setHovered(undefined);
    },
    onPointerMove: (event: PointerEvent) => {
      const { current: pressed } = press;
      const at = pixel(event);
      if (pressed === undefined) {
        setHovered(nearest(view, places, at));
      } else if (pressed.moves) {
        const [dx, dy] = [at[0] - pressed.last[0], at[1] - pressed.last[1]];
        pressed.last = at;
        setView((before) => moved(before, dx, dy));
      } else if (apart(at, pressed.last) >= CORNER_PIXELS) {
        setPath((before) => [...(before.length === 0 ? [pressed.start] : before), at]);
        pressed.last = at;
      }
    },
    onPointerUp: (event: PointerEvent) => {
      const { current: pressed } = press;
      press.current = undefined;
      setPath([]);
      if (pressed === undefined) return;
      const isClick = path.length < 3 && apart(pixel(event), pressed.start) < CLICK_PIXELS;
      if (isClick) choose(nearest(view, places, pixel(event)));
      else if (!pressed.moves) void inside(view, places, path).then(lasso);
    },
    onPointerLeave: () => {
      setHovered(undefined);
    },
  };
  return { handlers, path, hovered };
}

function apart([x, y]: Pixel, [otherX, otherY]: Pixel): number {
  return Math.hypot(x - otherX, y - otherY);
}
