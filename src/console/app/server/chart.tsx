import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Look, Value } from './series';

export interface Line {
  readonly label: string;
  readonly value: (look: Look) => Value;
}

interface Props {
  readonly title: string;
  readonly unit: string;
  readonly looks: readonly Look[];
  readonly lines: readonly Line[];
}

const HEIGHT = 180;
const COLOURS = ['--accent', '--warn', '--bad', '--good'];

function colour(name: string): string {
  // A computed colour, since a canvas knows nothing of the style sheet.
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function optionsOf({ unit, lines }: Props, width: number): uPlot.Options {
  const [text, grid] = [colour('--text-2'), colour('--line')];
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
    axes: [
      {
        ...axis,
        values: (_, times) => times.map((time) => new Date(time * 1000).toLocaleTimeString('en-GB')),
        space: 90,
      },
      { ...axis, size: 56, values: (_, values) => values.map((value) => value.toLocaleString('en-US')) },
    ],
    series: [
      {},
      ...lines.map(({ label }, index) => ({
        label: `${label}, ${unit}`,
        stroke: colour(COLOURS[index] ?? '--text'),
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}

/** Lines over time, and their latest values as text, which is what a screen reader gets. */
export function Chart(props: Props) {
  const { title, unit, looks, lines } = props;
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data: uPlot.AlignedData = [
    looks.map(({ at }) => at),
    ...lines.map(({ value }) => looks.map((of) => value(of))),
  ];
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(props, element.clientWidth), data, element);
    };
    draw();
    const watcher = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT });
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
  }, [looks]);
  const latest = looks.at(-1);
  return (
    <section class="card chart" aria-label={title}>
      <header class="row spread">
        <h2>{title}</h2>
        <p class="legend">
          {lines.map(({ label, value }, index) => (
            <span key={label} class={`line-${index}`}>
              {label} <strong>{valueText(latest === undefined ? null : value(latest))}</strong>
            </span>
          ))}
          <span class="faint">{unit}</span>
        </p>
      </header>
      <div ref={frame} class="plot" aria-hidden="true" />
    </section>
  );
}

function valueText(value: Value): string {
  if (value === null) return '–';
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 });
}
