import type { NativeCollectionFigures } from './binding';
import type { CollectionFigures } from './types';

/** Figures of a collection in the columns of the binding. */
const COLUMNS = 11;

/** Reads the columns in which figures of collections cross the boundary: an object for each would cost ten times as much. */
export function collectionFigures({ names, figures }: NativeCollectionFigures): readonly CollectionFigures[] {
  return names.map((name, at) => {
    const figure = (column: number): number => figures[at * COLUMNS + column] ?? NaN;
    const recall = { recall: figure(8), low: figure(9), high: figure(10) };
    return {
      name,
      points: figure(0),
      memoryBytes: figure(1),
      diskBytes: figure(2),
      backlog: { dense: figure(3), sparse: figure(4), field: figure(5) },
      searches: figure(6),
      writes: figure(7),
      ...(!Number.isNaN(recall.recall) && { recall }),
    };
  });
}
