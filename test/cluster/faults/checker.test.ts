/** The checker finds what is planted into histories that are in order. */
import { seeded } from '../random';
import { check, type Rule } from './checker';
import type { History, Read, Seen, Write } from './history';

type Draft = { -readonly [K in keyof History]: History[K][number][] };

/** What one copy of the data does with writes of several clients at a time, some of which are not acknowledged. */
function historyOf(seed: number): Draft {
  const random = seeded(seed);
  const history: Draft = { writes: [], reads: [], final: [], replicas: [] };
  const state = new Map<number, Seen>();
  for (let position = 1; position <= 200; position += 1) {
    const startMs = position * 10 - random() * 40;
    const points =
      random() < 0.3 ? [position, 1 + Math.floor(random() * 10)] : [1 + Math.floor(random() * 10)];
    const isDeletion = random() < 0.1;
    const fate = random();
    const value = isDeletion ? undefined : `v${position}`;
    const write = { operation: `o${position}`, points, value, startMs };
    if (fate < 0.1) {
      history.writes.push({ ...write, outcome: fate < 0.05 ? 'refused' : 'unknown', positions: [] });
      continue;
    }
    for (const point of points) {
      state.set(point, { point, value, position: isDeletion ? undefined : position });
    }
    const endMs = position * 10 + random() * 40;
    history.writes.push(
      fate < 0.2
        ? { ...write, outcome: 'unknown', positions: [] }
        : {
            ...write,
            outcome: 'acknowledged',
            endMs,
            positions: fate < 0.3 ? [position, position] : [position],
          },
    );
    history.reads.push({
      startMs: endMs,
      endMs: endMs + 5,
      after: position,
      seen: points.map((one) => state.get(one)!),
    });
  }
  const all = new Set(history.writes.flatMap(({ points }) => points));
  history.final = [...all].map(
    (point) => state.get(point) ?? { point, value: undefined, position: undefined },
  );
  const points = history.final.filter(({ value }) => value !== undefined).length;
  for (const node of ['a', 'b', 'c'])
    history.replicas.push({ shard: 0, node, position: 200, points, digest: 'd' });
  return history;
}

function rulesOf(history: History): Rule[] {
  return [...new Set(check(history).map(({ rule }) => rule))];
}

/** A write that was acknowledged and is the last one of its first point. */
function lastWrite({ writes, final }: Draft): {
  readonly at: number;
  readonly write: Write;
  readonly place: number;
} {
  for (const [place, { point, value, position }] of final.entries()) {
    const at = writes.findIndex((one) => one.value === value && one.positions.includes(position ?? 0));
    const write = writes[at];
    if (value !== undefined && write?.points[0] === point) return { at, write, place };
  }
  throw new Error('no point has an acknowledged write');
}

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed);

test('a repeat that is acknowledged in the stream which replaces the lost one has its first place', () => {
  for (const seed of SEEDS) {
    const history = historyOf(seed);
    const { at, write } = lastWrite(history);
    const positions = write.positions.map((position) => position + 2 ** 20);
    history.writes[at] = { ...write, positions };
    expect([seed, check(history)]).toEqual([seed, []]);
    // Of the same stream it is another place, and so is a second one that was seen.
    history.writes[at] = { ...write, positions: positions.map((position) => position - 1) };
    expect(check(history).map(({ rule }) => rule)).toContain('doubled');
    history.writes[at] = { ...write, positions };
    history.final.push({ point: write.points[0]!, value: write.value, position: positions[0] });
    expect(check(history).map(({ rule }) => rule)).toContain('doubled');
  }
});

test('a history of one copy has nothing wrong', () => {
  for (const seed of SEEDS) expect([seed, check(historyOf(seed))]).toEqual([seed, []]);
});

/** What is planted, and the rules that it breaks; others may be broken by it too. */
const PLANTED: readonly (readonly [what: string, rule: Rule, plant: (history: Draft) => void])[] = [
  [
    'a point that goes back to what it had before',
    'lost',
    (history) => {
      const { write, place } = lastWrite(history);
      const [point] = write.points;
      const before = history.writes.findLast(
        (one) =>
          one !== write &&
          one.value !== undefined &&
          one.positions.length > 0 &&
          one.points.includes(point!) &&
          one.positions[0]! < write.positions[0]!,
      );
      history.final[place] =
        before === undefined
          ? { point: point!, value: undefined, position: undefined }
          : { point: point!, value: before.value, position: before.positions[0] };
    },
  ],
  [
    'a point that is gone',
    'lost',
    (history) => {
      const { place } = lastWrite(history);
      const [{ point }] = [history.final[place]!];
      history.writes = history.writes.filter((one) => one.value !== undefined || !one.points.includes(point));
      history.reads = history.reads.filter(({ seen }) => seen.every((one) => one.point !== point));
      history.final[place] = { point, value: undefined, position: undefined };
    },
  ],
  [
    'a deletion that was forgotten',
    'lost',
    (history) => {
      const { write, place } = lastWrite(history);
      const deletion: Write = {
        operation: 'last',
        points: [write.points[0]!],
        value: undefined,
        startMs: 9000,
        endMs: 9001,
        outcome: 'acknowledged',
        positions: [900],
      };
      history.writes.push(deletion);
      expect(history.final[place]?.value).toBe(write.value);
    },
  ],
  [
    'half of a write of two points',
    'lost',
    (history) => {
      const value = 'half';
      history.writes.push({
        operation: 'half',
        points: [9001, 9002],
        value,
        startMs: 9000,
        outcome: 'unknown',
        positions: [],
      });
      history.final.push(
        { point: 9001, value, position: 900 },
        { point: 9002, value: undefined, position: undefined },
      );
    },
  ],
  [
    'a point that nobody looked at',
    'lost',
    (history) => {
      history.final.pop();
    },
  ],
  [
    'a write that is applied again behind its first place',
    'doubled',
    (history) => {
      const { write, place } = lastWrite(history);
      history.final[place] = { point: write.points[0]!, value: write.value, position: 900 };
    },
  ],
  [
    'a repeat that is answered with another position',
    'doubled',
    (history) => {
      const { at, write } = lastWrite(history);
      history.writes[at] = { ...write, positions: [write.positions[0]!, 900] };
    },
  ],
  [
    'two writes with one position',
    'conflict',
    (history) => {
      const { at, write } = lastWrite(history);
      history.writes.push({
        ...history.writes[at]!,
        value: 'other',
        operation: 'other',
        points: [9001],
        positions: write.positions,
      });
      history.final.push({ point: 9001, value: 'other', position: write.positions[0] });
    },
  ],
  [
    'a later write with an earlier position',
    'order',
    (history) => {
      history.writes.push({
        operation: 'late',
        points: [9001],
        value: 'late',
        startMs: 9000,
        endMs: 9001,
        outcome: 'acknowledged',
        positions: [0.5],
      });
      history.final.push({ point: 9001, value: 'late', position: 0.5 });
    },
  ],
  [
    'a read that does not see the write that it names',
    'stale',
    (history) => {
      history.reads.push({
        startMs: 9000,
        endMs: 9001,
        after: 900,
        seen: [{ point: lastWrite(history).write.points[0]!, value: history.writes[0]!.value, position: 0 }],
      });
    },
  ],
  [
    'a read that sees nothing where something was written',
    'stale',
    (history) => {
      history.writes.push({
        operation: 'there',
        points: [9001],
        value: 'there',
        startMs: 9000,
        endMs: 9001,
        outcome: 'acknowledged',
        positions: [900],
      });
      history.reads.push({
        startMs: 9002,
        endMs: 9003,
        after: 900,
        seen: [{ point: 9001, value: undefined, position: undefined }],
      });
      history.final.push({ point: 9001, value: 'there', position: 900 });
    },
  ],
  [
    'a value that nobody wrote',
    'phantom',
    (history) => {
      history.final.push({ point: 9001, value: 'dust', position: 3 });
    },
  ],
  [
    'a read of what is written later',
    'phantom',
    (history) => {
      const { write } = lastWrite(history);
      const read: Read = {
        startMs: -100,
        endMs: -90,
        seen: [{ point: write.points[0]!, value: write.value, position: write.positions[0] }],
      };
      history.reads.push(read);
    },
  ],
  [
    'a write that was refused',
    'refused',
    (history) => {
      history.writes.push({
        operation: 'no',
        points: [9001],
        value: 'no',
        startMs: 9000,
        outcome: 'refused',
        positions: [],
      });
      history.final.push({ point: 9001, value: 'no', position: 900 });
    },
  ],
  [
    'a replica in another state',
    'replicas',
    (history) => {
      history.replicas[1] = { ...history.replicas[1]!, digest: 'other' };
    },
  ],
  [
    'replicas with a point that no read finds',
    'replicas',
    (history) => {
      history.replicas = history.replicas.map((replica) => ({ ...replica, points: replica.points + 1 }));
    },
  ],
];

test.each(PLANTED)('%s is found', (_, rule, plant) => {
  for (const seed of SEEDS) {
    const history = historyOf(seed);
    plant(history);
    expect([seed, rulesOf(history)]).toEqual([seed, expect.arrayContaining([rule])]);
  }
});

test('where a log lost its end, positions are compared within each point', () => {
  const write = (value: string, point: number, position: number, startMs: number): Write => ({
    ...{ operation: value, points: [point], value, startMs, endMs: startMs + 1 },
    ...{ outcome: 'acknowledged', positions: [position] },
  });
  const final = [
    { point: 1, value: 'a', position: 7 },
    { point: 2, value: 'b', position: 7 },
  ];
  const apart: History = {
    writes: [write('a', 1, 7, 0), write('b', 2, 7, 10)],
    reads: [],
    final,
    replicas: [],
  };
  expect(check(apart, 'of each point')).toEqual([]);
  expect(rulesOf(apart)).toEqual(['conflict']);
  const again = { ...apart, writes: [...apart.writes, write('c', 1, 6, 20)] };
  expect(check(again, 'of each point')).toEqual([expect.objectContaining({ rule: 'order' })]);
});
