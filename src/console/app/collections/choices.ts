/** What can be chosen for a vector field, each with one sentence on what it means. */
import type { Choice } from '../parts/choice';
import type { JsonObject } from '../service/exact-json';

export const KINDS: readonly Choice[] = [
  {
    value: 'dense',
    label: 'Dense',
    about: 'One list of numbers for each point, as embedding models for texts and images make them.',
  },
  {
    value: 'multi',
    label: 'Multi-vector',
    about:
      'Several lists of numbers for each point, such as one for each word (ColBERT). A query adds up the best similarity of each of its rows.',
  },
  {
    value: 'sparse',
    label: 'Sparse',
    about: 'Few weights among very many dimensions, as BM25 and SPLADE make them. Searches are always exact.',
  },
];

export const DISTANCES: readonly Choice[] = [
  {
    value: 'Cosine',
    label: 'Cosine',
    about:
      'The angle between vectors, whatever their lengths. Right for most text embeddings. Higher is nearer.',
  },
  { value: 'Dot', label: 'Dot product', about: 'For models that say so: length counts. Higher is nearer.' },
  { value: 'Euclid', label: 'Euclid', about: 'The straight line between two vectors. Lower is nearer.' },
  {
    value: 'Manhattan',
    label: 'Manhattan',
    about: 'The sum of the differences of components. Lower is nearer.',
  },
];

export const DATATYPES: readonly Choice[] = [
  { value: 'float32', label: 'float32', about: 'Stored as sent, 4 bytes a component.' },
  { value: 'float16', label: 'float16', about: 'Half the room, rounded to about three digits.' },
  { value: 'uint8', label: 'uint8', about: 'A quarter of the room, whole numbers from 0 to 255 only.' },
  {
    value: 'turbo4',
    label: 'turbo4',
    about:
      'Kept as float16, four times the room that its name says: KithDB has no originals of four bits. For programs that ask for it.',
  },
];

export const ON_DISK: readonly Choice[] = [
  {
    value: '',
    label: 'Let the server decide',
    about: 'Vectors are in memory as long as it has room for them.',
  },
  {
    value: 'false',
    label: 'Keep in memory',
    about: 'Vectors always stay in memory: the fastest, and the most memory.',
  },
  {
    value: 'true',
    label: 'May leave memory',
    about: 'Vectors are read from disk where codes are not enough.',
  },
];

export const MODIFIERS: readonly Choice[] = [
  { value: 'none', label: 'None', about: 'Weights are compared as they are, as SPLADE needs it.' },
  {
    value: 'idf',
    label: 'IDF',
    about: 'Rare words of a query count more. BM25 needs it, and so does the model qdrant/bm25.',
  },
];

interface QuantizationChoice extends Choice {
  /** As the server takes it. */
  readonly config: JsonObject | undefined;
}

/** Codes of so many bits, and how much of the vectors' size they are. */
const CODES = {
  8: 'Codes of 8 bits a component, a quarter of the size of float32',
  4: 'Codes of 4 bits a component, an eighth of the size of float32',
  2: 'Codes of 2 bits a component, a sixteenth of the size of float32',
  1: 'Codes of one bit a component, a thirty-second of the size of float32',
} as const;

const UNTRAINED = 'They are rotated and rounded, so nothing is trained';

/** By name of the compression, as the server serves it. */
const PRODUCTS = [
  ['x4', `${CODES[8]}. ${UNTRAINED}. The same as scalar.`],
  ['x8', `${CODES[4]}. ${UNTRAINED}, and find more than product codes of their size.`],
  ['x16', `${CODES[2]}. ${UNTRAINED}, and find more than product codes of their size.`],
  ['x32', `${CODES[1]}. ${UNTRAINED}, and find more than product codes of their size.`],
  [
    'x64',
    `One bit for each dimension of a random projection to half of the dimensions, a sixty-fourth of the size of float32. ${UNTRAINED}. Measure the recall before relying on it.`,
  ],
] as const;

const TURBOS = [
  ['bits4', '4 bits', `${CODES[4]}. The same as product x8.`],
  ['bits2', '2 bits', `${CODES[2]}. The same as binary with two bits.`],
  [
    'bits1_5',
    '1.5 bits',
    `${CODES[2]}: the server has no codes of one and a half, and takes the next finer.`,
  ],
  ['bits1', '1 bit', `${CODES[1]}. The same as binary with one bit.`],
] as const;

/** Codes by which the graph is walked; candidates are ranked again by the original vectors. */
export const QUANTIZATIONS: readonly QuantizationChoice[] = [
  {
    value: 'none',
    label: 'Chosen by the server',
    about:
      'The server measures what the vectors need: codes of 4 bits or of 8, and none where codes cannot tell neighbours apart. Hits have scores of the original vectors. Right for most collections.',
    config: undefined,
  },
  {
    value: 'scalar',
    label: 'Scalar, 8 bits',
    about: `${CODES[8]}, and hardly any loss. Where even these cannot tell neighbours apart the server takes none.`,
    config: { scalar: { type: 'int8' } },
  },
  {
    value: 'binary2',
    label: 'Binary, 2 bits',
    about: `${CODES[2]}. For vectors of some hundred components and more.`,
    config: { binary: { encoding: 'two_bits' } },
  },
  {
    value: 'binary1',
    label: 'Binary, 1 bit',
    about: `${CODES[1]}. For vectors of a thousand components and more.`,
    config: { binary: {} },
  },
  ...PRODUCTS.map(([compression, about]): QuantizationChoice => ({
    value: `product-${compression}`,
    label: `Product, ${compression}`,
    about,
    config: { product: { compression } },
  })),
  ...TURBOS.map(([bits, label, about]): QuantizationChoice => ({
    value: `turbo-${bits}`,
    label: `Turbo, ${label}`,
    about,
    config: { turbo: { bits } },
  })),
];

export function quantizationOf(value: string): JsonObject | undefined {
  return QUANTIZATIONS.find((choice) => choice.value === value)?.config;
}

/** Types of field indexes. */
export const FIELD_TYPES: readonly Choice[] = [
  { value: 'keyword', label: 'keyword', about: 'Strings that are compared whole: categories, tags, names.' },
  { value: 'integer', label: 'integer', about: 'Whole numbers: equality and ranges.' },
  { value: 'float', label: 'float', about: 'Numbers with a fraction: ranges.' },
  { value: 'bool', label: 'bool', about: 'True and false.' },
  { value: 'datetime', label: 'datetime', about: 'Dates and times in RFC 3339: ranges.' },
  {
    value: 'text',
    label: 'text',
    about: 'Words of longer texts: conditions that ask for words and phrases.',
  },
  { value: 'geo', label: 'geo', about: 'Places with lon and lat: circles, boxes and polygons.' },
  { value: 'uuid', label: 'uuid', about: 'UUIDs, in less room than keyword.' },
];
