/** Which colour each point has, by the value of a field. */
import { cellText } from '../points/fields';
import { isRawNumber, type JsonValue } from '../service/exact-json';

type Value = JsonValue | undefined;

/** Distinguishable with any kind of colour vision (Okabe and Ito), on light and dark. */
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#a59a20', '#7a6ff0'];
const PLAIN = '#3d7fcf';
const OTHER = '#8b95a1';
/** From few to much, each step lighter or darker than the one before (viridis, without its ends). */
const SCALE = ['#46327e', '#365c8d', '#277f8e', '#1fa187', '#4ac16d', '#a0da39'];

export interface Legend {
  readonly label: string;
  readonly colour: string;
  readonly count: number;
}

export interface Colouring {
  /** Place in `palette` of each point. */
  readonly codes: Uint8Array;
  readonly palette: readonly string[];
  readonly legend: readonly Legend[];
}

/** One colour for all. */
export function plainColouring(count: number): Colouring {
  return { codes: new Uint8Array(count), palette: [PLAIN], legend: [] };
}

export function colouring(values: readonly Value[]): Colouring {
  const numbers = values.map(numberOf);
  const present = numbers.filter((value) => value !== undefined);
  const isScale = new Set(present).size > PALETTE.length && present.length * 2 > values.length;
  return isScale ? byNumber(numbers, present) : byValue(values);
}

function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  return isRawNumber(value) ? Number(value.rawJSON) : undefined;
}

/** Numbers in classes of the same size, so that a few large values do not take all colours. */
function byNumber(numbers: readonly (number | undefined)[], present: readonly number[]): Colouring {
  const sorted = [...present].sort((a, b) => a - b);
  const bounds = SCALE.map((_, step) => {
    const at = Math.round(((step + 1) * (sorted.length - 1)) / SCALE.length);
    return sorted[at] ?? 0;
  });
  const classOf = (value: number): number => {
    const step = bounds.findIndex((bound) => value <= bound);
    return step === -1 ? SCALE.length - 1 : step;
  };
  const codes = Uint8Array.from(numbers, (value) => (value === undefined ? SCALE.length : classOf(value)));
  const labels = bounds.map((bound, step) => {
    const from = step === 0 ? (sorted[0] ?? 0) : (bounds[step - 1] ?? 0);
    return `${from.toLocaleString('en-US')} to ${bound.toLocaleString('en-US')}`;
  });
  return finished(codes, SCALE, labels);
}

/** The most frequent values have a colour each. */
function byValue(values: readonly Value[]): Colouring {
  const texts = values.map((value) => cellText(Array.isArray(value) ? value[0] : value));
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const frequent = [...counts]
    .filter(([text]) => text !== '')
    .sort(([, a], [, b]) => b - a)
    .slice(0, PALETTE.length)
    .map(([text]) => text);
  const places = new Map(frequent.map((text, at) => [text, at]));
  const codes = Uint8Array.from(texts, (text) => places.get(text) ?? frequent.length);
  return finished(codes, PALETTE.slice(0, frequent.length), frequent);
}

/** With the colour of everything else behind the others. */
function finished(codes: Uint8Array, colours: readonly string[], labels: readonly string[]): Colouring {
  const palette = [...colours, OTHER];
  const counts = new Array<number>(palette.length).fill(0);
  for (const code of codes) counts[code] = (counts[code] ?? 0) + 1;
  const legend = [...labels, 'others']
    .map((label, at) => ({ label, colour: palette[at] ?? OTHER, count: counts[at] ?? 0 }))
    .filter((of) => of.count > 0);
  return { codes, palette, legend };
}
