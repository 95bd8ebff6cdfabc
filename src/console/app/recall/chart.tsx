import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import { axis, colour, Plot } from '../parts/plot';
import type { Measured } from './measuring';

const HEIGHT = 280;
// uPlot declares these as constants of its types, which no module can import.
/* eslint-disable @typescript-eslint/no-unsafe-enum-assignment */
const ORDINAL: uPlot.Scale.Distr = 2;
const RIGHT: uPlot.Axis.Side = 1;
/* eslint-enable @typescript-eslint/no-unsafe-enum-assignment */

/** Between the least recall that may be and 1, with room for the line. */
function recallRange(least: number | null): [number, number] {
  return least === null ? [0, 1] : [Math.max(0, Math.floor(least * 20 - 0.5) / 20), 1.005];
}

function optionsOf(width: number): uPlot.Options {
  const recall = colour('--accent');
  const latency = colour('--warn');
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: {
      // Widths grow by a factor: one after the other they are as far apart.
      x: { time: false, distr: ORDINAL },
      recall: { range: (_, least) => recallRange(least) },
      ms: { range: (_, __, most) => [0, Math.max(most * 1.15, 0.1)] },
    },
    axes: [
      { ...axis(), size: 34, values: (_, values) => values.map(String) },
      {
        ...axis(),
        scale: 'recall',
        size: 64,
        values: (_, values) =>
          values.map((value) =>
            value > 1 ? '' : `${(value * 100).toLocaleString('en-US', { maximumFractionDigits: 1 })} %`,
          ),
      },
      {
        ...axis(),
        scale: 'ms',
        side: RIGHT,
        size: 64,
        grid: { show: false },
        values: (_, values) => values.map((value) => `${value.toLocaleString('en-US')} ms`),
      },
    ],
    bands: [{ series: [3, 2], fill: `color-mix(in srgb, ${recall} 16%, transparent)` }],
    series: [
      {},
      {
        label: 'Recall',
        scale: 'recall',
        stroke: recall,
        width: 2,
        points: { show: true, size: 6, fill: recall },
      },
      { label: 'Least', scale: 'recall', width: 0, points: { show: false } },
      { label: 'Most', scale: 'recall', width: 0, points: { show: false } },
      {
        label: 'Latency',
        scale: 'ms',
        stroke: latency,
        width: 2,
        dash: [6, 4],
        points: { show: true, size: 6, fill: latency },
      },
    ],
  };
}

/** Recall and latency by width. The table beside it has the figures. */
export function RecallChart({ measured }: { measured: readonly Measured[] }) {
  const data = useMemo(
    (): uPlot.AlignedData => [
      measured.map(({ ef }) => ef),
      measured.map(({ recall }) => recall),
      measured.map(({ low }) => low),
      measured.map(({ high }) => high),
      measured.map(({ median }) => median),
    ],
    [measured],
  );
  return (
    <section class="card chart" aria-label="Chart of recall and latency">
      <header class="row spread">
        <h2>Recall and latency over ef</h2>
        <p class="legend">
          <span class="line accent">Recall, and where it is with 95 %</span>
          <span class="line warn">Median latency</span>
        </p>
      </header>
      <Plot options={optionsOf} data={data} />
    </section>
  );
}
