/** Which colour each point has, by the value of a field. */
import { cellText } from '../points/fields';
import { isRawNumber } from '../service/exact-json';
import type { MapPoint } from './sample';

/** Told apart by people with any kind of colour vision (Okabe and Ito), on light and dark. */
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#a59a20', '#7a6ff0'];
export const PLAIN = '#3d7fcf';
const OTHER = '#8b95a1';

export interface Legend {
  readonly label: string;
  readonly colour: string;
  readonly count: number;
}

export interface Colouring {
  readonly of: (point: MapPoint) => string;
  readonly legend: readonly Legend[];
}

const STEPS = 6;

export function colouring(points: readonly MapPoint[], field: string): Colouring {
  if (field === '') return { of: () => PLAIN, legend: [] };
  const numbers = points.map((point) => numberOf(point, field));
  const present = numbers.filter((value) => value !== undefined);
  const isScale = new Set(present).size > PALETTE.length && present.length * 2 > points.length;
  return isScale ? byNumber(points, field, present) : byValue(points, field);
}

function numberOf({ payload }: MapPoint, field: string): number | undefined {
  const value = payload[field];
  if (typeof value === 'number') return value;
  return isRawNumber(value) ? Number(value.rawJSON) : undefined;
}

/** Numbers in classes of the same size, so that a few large values do not take all colours. */
function byNumber(points: readonly MapPoint[], field: string, present: readonly number[]): Colouring {
  const sorted = [...present].sort((a, b) => a - b);
  const bounds = Array.from({ length: STEPS + 1 }, (_, step) => {
    const at = Math.min(sorted.length - 1, Math.round((step * (sorted.length - 1)) / STEPS));
    return sorted[at] ?? 0;
  });
  const stepOf = (value: number): number => {
    const step = bounds.findIndex((bound, index) => index > 0 && value <= bound);
    return step === -1 ? STEPS : step;
  };
  const shade = (step: number): string => `hsl(${250 - step * 34} 70% 52%)`;
  const of = (point: MapPoint): string => {
    const value = numberOf(point, field);
    return value === undefined ? OTHER : shade(stepOf(value));
  };
  const legend = bounds.slice(1).map((bound, index) => ({
    label: `${(bounds[index] ?? 0).toLocaleString('en-US')} to ${bound.toLocaleString('en-US')}`,
    colour: shade(index + 1),
    count: present.filter((value) => stepOf(value) === index + 1).length,
  }));
  return { of, legend: withOther(legend, points.length) };
}

/** The most frequent values have a colour each. */
function byValue(points: readonly MapPoint[], field: string): Colouring {
  const counts = new Map<string, number>();
  const valueOf = ({ payload }: MapPoint): string => {
    const value = payload[field];
    return cellText(Array.isArray(value) ? value[0] : value);
  };
  for (const point of points) counts.set(valueOf(point), (counts.get(valueOf(point)) ?? 0) + 1);
  const frequent = [...counts]
    .filter(([value]) => value !== '')
    .sort(([, a], [, b]) => b - a)
    .slice(0, PALETTE.length);
  const colours = new Map(frequent.map(([value], index) => [value, PALETTE[index] ?? OTHER]));
  const legend = frequent.map(([label, count]) => ({ label, count, colour: colours.get(label) ?? OTHER }));
  return { of: (point) => colours.get(valueOf(point)) ?? OTHER, legend: withOther(legend, points.length) };
}

function withOther(legend: readonly Legend[], all: number): readonly Legend[] {
  const count = all - legend.reduce((sum, of) => sum + of.count, 0);
  return count > 0 ? [...legend, { label: 'others', colour: OTHER, count }] : legend;
}
