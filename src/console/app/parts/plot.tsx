import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

interface Props {
  /** What is drawn, for a width in pixels; asked for again when the colours change. */
  readonly options: (width: number) => uPlot.Options;
  readonly data: uPlot.AlignedData;
}

/** A computed colour of the style sheet, of which a canvas knows nothing. */
export function colour(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Stroke, grid and ticks of an axis. */
export function axis(): uPlot.Axis {
  const [text, grid] = [colour('--text-2'), colour('--line')];
  return { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
}

/** Lines on a canvas, as wide as there is room. What they show is said beside it in text, for screen readers. */
export function Plot({ options, data }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element.clientWidth), latest.current, element);
    };
    draw();
    const watcher = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: options(0).height });
    });
    watcher.observe(element);
    const scheme = window.matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      watcher.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);
  return <div ref={frame} class="plot" aria-hidden="true" />;
}
