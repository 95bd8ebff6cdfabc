import type { CollectionFigures } from '../engine/types';
import { labelled, type Family, type Sample } from './family';

type SamplesOfOne = (collection: CollectionFigures) => readonly Sample[];

/** The samples of all collections, each with the label of its own. */
function samplesOf(collections: readonly CollectionFigures[], samples: SamplesOfOne): readonly Sample[] {
  return collections.flatMap((collection) =>
    samples(collection).map(({ labels, value }) => ({
      labels: { collection: collection.name, ...labels },
      value,
    })),
  );
}

/** Metrics with a label for each collection: of as many as the setting `metrics_collections` says. */
export function collectionFamilies(collections: readonly CollectionFigures[]): readonly Family[] {
  if (collections.length === 0) {
    return [];
  }
  const each = (samples: SamplesOfOne) => () => samplesOf(collections, samples);
  return [
    {
      type: 'gauge',
      name: 'kithdb_collection_points',
      help: 'Points of a collection',
      samples: each(({ points }) => [{ value: points }]),
    },
    {
      type: 'gauge',
      name: 'kithdb_collection_memory_bytes',
      help: 'Memory that a collection holds, maps left out',
      samples: each(({ memoryBytes }) => [{ value: memoryBytes }]),
    },
    {
      type: 'gauge',
      name: 'kithdb_collection_disk_bytes',
      help: 'Files of a collection on the disk, its part of the log left out',
      samples: each(({ diskBytes }) => [{ value: diskBytes }]),
    },
    {
      type: 'gauge',
      name: 'kithdb_collection_index_backlog',
      help: 'Rows and points of a collection that are to be indexed, by the kind of index',
      samples: each(({ backlog }) => labelled('kind', { ...backlog })),
    },
    {
      type: 'counter',
      name: 'kithdb_collection_searches_total',
      help: 'Requests that searched a collection',
      samples: each(({ searches }) => [{ value: searches }]),
    },
    {
      type: 'counter',
      name: 'kithdb_collection_writes_total',
      help: 'Writes that were applied to a collection since it was created',
      samples: each(({ writes }) => [{ value: writes }]),
    },
    {
      type: 'gauge',
      name: 'kithdb_collection_recall_estimate',
      help: 'Measured recall of searches with default parameters, with its interval of 95 %; no sample where none is measured',
      samples: each(({ recall }) =>
        recall === undefined
          ? []
          : labelled('value', { estimate: recall.recall, low: recall.low, high: recall.high }),
      ),
    },
  ];
}
