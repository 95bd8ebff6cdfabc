import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import { axis, colour, Plot } from '../parts/plot';
import type { Look, Value } from './look';

export interface Line {
  readonly label: string;
  readonly colour: 'accent' | 'warn' | 'good' | 'bad' | 'faint';
  readonly value: (look: Look) => Value;
}

interface Props {
  readonly title: string;
  readonly unit: string;
  readonly looks: readonly Look[];
  readonly lines: readonly Line[];
}

const HEIGHT = 180;

function optionsOf({ unit, lines }: Props, width: number): uPlot.Options {
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
    axes: [
      {
        ...axis(),
        values: (_, times) => times.map((time) => new Date(time * 1000).toLocaleTimeString('en-GB')),
        space: 90,
        size: 34,
      },
      { ...axis(), size: 56, values: (_, values) => values.map((value) => value.toLocaleString('en-US')) },
    ],
    series: [
      {},
      ...lines.map(({ label, colour: of }) => ({
        label: `${label}, ${unit}`,
        stroke: colour(of === 'faint' ? '--text-2' : `--${of}`),
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}

/** Lines over time, and their latest values as text, which is what a screen reader gets. */
export function Chart(props: Props) {
  const { title, unit, looks, lines } = props;
  const data = useMemo(
    (): uPlot.AlignedData => [
      looks.map(({ at }) => at),
      ...lines.map(({ value }) => looks.map((of) => value(of))),
    ],
    [looks],
  );
  const latest = looks.at(-1);
  return (
    <section class="card chart" aria-label={title}>
      <header class="row spread">
        <h2>{title}</h2>
        <p class="legend">
          {lines.map(({ label, value, colour: of }) => (
            <span key={label} class={`line ${of}`}>
              {label} <strong>{valueText(latest === undefined ? null : value(latest))}</strong>
            </span>
          ))}
          <span class="faint">{unit}</span>
        </p>
      </header>
      <Plot options={(width) => optionsOf(props, width)} data={data} />
    </section>
  );
}

function valueText(value: Value): string {
  if (value === null) return '–';
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 });
}
