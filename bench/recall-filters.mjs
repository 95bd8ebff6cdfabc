/** The filters that target recall is measured under: those that vectors have nothing to do with, and those that they decide. */
import { random } from './recall-sets.mjs';

/** Numbers of clusters: a filter on one of them matches about a quarter, and a sixteenth. */
const CLUSTERS = [4, 16];
/** Sections with a smaller share of the points are not filtered for: their points are few enough to be scanned. */
const LEAST_SHARE = 0.03;

/**
 * @typedef {object} RecallFilters
 * @property {Record<string, 'integer' | 'keyword'>} indexes by field
 * @property {(row: number) => object} payload of a row of the base
 * @property {Record<string, (query: Float32Array) => object | undefined>} conditions by name, of one of the set's queries
 */

const KINDS = { random: randomFilters, clusters: clusterFilters, sections: sectionFilters };

/** True for the name of a kind of filters, otherwise what it should be. */
export function isKind(text) {
  return Object.hasOwn(KINDS, text) || `one of ${Object.keys(KINDS).join(', ')}`;
}

/**
 * @param {string} kind
 * @param {import('./recall-sets.mjs').RecallSet} set
 * @returns {RecallFilters}
 */
export function recallFilters(kind, set) {
  return KINDS[kind](set);
}

/** No filter, and two that match a random share. */
function randomFilters() {
  const uniform = random(2);
  const below = (bound) => () => ({ must: { key: 'u', range: { lt: bound } } });
  return {
    indexes: { u: 'integer' },
    payload: () => ({ u: Math.floor(uniform() * 100) }),
    conditions: { none: () => undefined, '40 %': below(40), '10 %': below(10) },
  };
}

/** The vectors that are nearest to one of a few, which is not the one nearest to the query. */
function clusterFilters({ base, distance, queries }) {
  const uniform = random(4);
  const other = (own, count) => (own + 1 + Math.floor(uniform() * (count - 1))) % count;
  const conditions = {};
  const clusterings = CLUSTERS.map((count) => {
    const centres = Array.from({ length: count }, () => base[Math.floor(uniform() * base.length)]);
    return { key: `c${count}`, count, nearest: nearestOf(centres, distance) };
  });
  for (const { key, count, nearest } of clusterings) {
    const chosen = new Map(queries.map((query) => [query, other(nearest(query), count)]));
    conditions[`another of ${count} clusters`] = (query) => ({
      must: { key, match: { value: chosen.get(query) } },
    });
  }
  return {
    indexes: Object.fromEntries(clusterings.map(({ key }) => [key, 'integer'])),
    payload: (row) => Object.fromEntries(clusterings.map(({ key, nearest }) => [key, nearest(base[row])])),
    conditions,
  };
}

/** Which of some vectors a vector is nearest to. */
function nearestOf(centres, distance) {
  const apart = (a, b) => {
    let sum = 0;
    for (let at = 0; at < a.length; at++) {
      sum += distance === 'Euclid' ? (a[at] - b[at]) ** 2 : -a[at] * b[at];
    }
    return sum;
  };
  return (vector) => {
    const distances = centres.map((centre) => apart(centre, vector));
    return distances.indexOf(Math.min(...distances));
  };
}

/** The sections of the payloads: one that the row nearest to the query is not in, and all but that of this row. */
function sectionFilters({ payloads, queries, nearest }) {
  if (!payloads?.[0]?.section) throw new Error('--filters sections: the set has no sections');
  const counts = new Map();
  for (const { section } of payloads) counts.set(section, (counts.get(section) ?? 0) + 1);
  const large = [...counts]
    .filter(([, count]) => count >= LEAST_SHARE * payloads.length)
    .map(([name]) => name);
  const uniform = random(4);
  const chosen = new Map(
    queries.map((query, at) => {
      const own = payloads[nearest(at)[0]].section;
      const others = large.filter((section) => section !== own);
      return [query, { own, other: others[Math.floor(uniform() * others.length)] }];
    }),
  );
  const match = (section) => ({ key: 'section', match: { value: section } });
  return {
    indexes: { section: 'keyword' },
    payload: (row) => ({ section: payloads[row].section }),
    conditions: {
      'another section': (query) => ({ must: match(chosen.get(query).other) }),
      'all other sections': (query) => ({ must_not: match(chosen.get(query).own) }),
    },
  };
}
