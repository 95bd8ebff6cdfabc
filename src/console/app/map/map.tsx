import { useState } from 'preact/hooks';
import type { CollectionPart } from '../collections/collection';
import { Form, SelectField, TextField } from '../parts/form';
import { Empty, Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { knownFields } from '../points/fields';
import { NO_FILTER, readFilter, type FilterDraft } from '../points/filter';
import { FilterBuilder } from '../points/filter-builder';
import { count, plural } from '../service/format';
import { linkTo } from '../service/location';
import { vectorFields, type CollectionInfo, type VectorField } from '../service/types';
import { VectorChoice } from '../search/vector-choice';
import { Drawn } from './drawn';
import { useDrawing, type Stage } from './drawing';
import { requestOf, type Method, type Wanted } from './projection';

const SIZES = ['500', '2000', '10000', '50000', '100000'].map((value) => ({
  value,
  label: count(Number(value)),
}));

const METHODS = [
  {
    value: 'umap',
    label: 'Neighbours (UMAP)',
    about:
      'Neighbours in all dimensions are near each other. Sizes of groups, and distances between them, mean nothing.',
  },
  {
    value: 'pca',
    label: 'Principal components',
    about: 'The plane in which the vectors differ most. Distances mean something, and most is hidden.',
  },
];

const MAX_NEIGHBOURS = 100;

/** What is to be drawn, as the page holds it. */
interface Draft {
  readonly using: string;
  readonly size: string;
  readonly method: Method;
  readonly neighbors: string;
  readonly filter: FilterDraft;
}

/** Points of a collection on a plane, which the server projects. */
export default function MapPage({ name, info }: CollectionPart) {
  const fields = vectorFields(info).filter(({ kind }) => kind !== 'sparse');
  const [draft, setDraft] = useState<Draft>({
    using: fields[0]?.name ?? '',
    size: '2000',
    method: 'umap',
    neighbors: '15',
    filter: NO_FILTER,
  });
  const [seed, setSeed] = useState(0);
  const drawing = useDrawing();
  const field = fields.find((of) => of.name === draft.using);
  if (field === undefined) return <NoDense />;
  const { filter, problem } = readFilter(draft.filter);
  const wanted: Wanted = {
    collection: name,
    field,
    sample: Number(draft.size),
    neighbors: Math.min(MAX_NEIGHBOURS, Math.max(2, Math.round(Number(draft.neighbors)) || 15)),
    filter,
    seed,
  };
  const { projection, stage } = drawing;
  const start = (): void => {
    drawing.start(wanted, draft.method);
    // The next one is of other points.
    setSeed(seed + 1);
  };
  return (
    <>
      <Form submit={start} label="What is drawn">
        <DraftFields draft={draft} setDraft={setDraft} info={info} fields={fields} />
        <div class="form-end">
          <button type="submit" class="primary" disabled={problem !== undefined || stage !== 'idle'}>
            {projection === undefined ? 'Draw the map' : 'Draw another sample'}
          </button>
          {stage !== 'idle' && (
            <button type="button" onClick={drawing.stop}>
              Stop
            </button>
          )}
          <Progress stage={stage} seconds={drawing.seconds} />
        </div>
      </Form>
      <RequestView request={requestOf(wanted, draft.method)} />
      <Failure error={drawing.error} />
      {projection === undefined && stage === 'idle' && (
        <First name={name} isEmpty={info.points_count === 0} />
      )}
      {projection !== undefined && (
        <Drawn key={drawing.number} name={name} info={info} projection={projection} />
      )}
    </>
  );
}

interface DraftProps {
  readonly draft: Draft;
  readonly setDraft: (draft: Draft) => void;
  readonly info: CollectionInfo;
  readonly fields: readonly VectorField[];
}

function DraftFields({ draft, setDraft, info, fields }: DraftProps) {
  const change = (over: Partial<Draft>): void => {
    setDraft({ ...draft, ...over });
  };
  return (
    <>
      <div class="columns">
        <VectorChoice
          fields={fields}
          value={draft.using}
          change={(using) => {
            change({ using });
          }}
        />
        <SelectField
          label="Points at random"
          value={draft.size}
          choices={SIZES}
          hint="At most so many of those that match."
          change={(size) => {
            change({ size });
          }}
        />
        <SelectField
          label="What is near"
          value={draft.method}
          choices={METHODS}
          change={(method) => {
            change({ method: method === 'pca' ? 'pca' : 'umap' });
          }}
        />
        {draft.method === 'umap' && (
          <TextField
            label="Neighbours"
            type="number"
            min={2}
            max={MAX_NEIGHBOURS}
            value={draft.neighbors}
            hint="Of each point. Few show fine structure, many the whole."
            change={(neighbors) => {
              change({ neighbors });
            }}
          />
        )}
      </div>
      <FilterBuilder
        draft={draft.filter}
        change={(filter) => {
          change({ filter });
        }}
        fields={knownFields(info)}
      />
    </>
  );
}

const STAGES: Readonly<Record<Exclude<Stage, 'idle'>, string>> = {
  pca: 'The server finds the principal components',
  umap: 'The server finds neighbours and lays them out; meanwhile the principal components',
};

function Progress({ stage, seconds }: { stage: Stage; seconds: number }) {
  return (
    <p class="hint" role="status">
      {stage !== 'idle' && `${STAGES[stage]} … ${seconds} s`}
    </p>
  );
}

function NoDense() {
  return (
    <Empty title="There is nothing to draw">
      <p>A map is drawn of dense vectors or multi-vectors. This collection has neither.</p>
    </Empty>
  );
}

function First({ name, isEmpty }: { name: string; isEmpty: boolean }) {
  return (
    <Empty title={isEmpty ? 'There is nothing to draw yet' : 'No map yet'}>
      <p>
        {isEmpty
          ? 'A map needs points.'
          : `The server gives ${plural(100_000, 'point')} or fewer a place in a plane. Points that are alike are near each other.`}
      </p>
      {isEmpty && (
        <a class="button primary" href={linkTo('collections', name, 'upload')}>
          Upload points
        </a>
      )}
    </Empty>
  );
}
