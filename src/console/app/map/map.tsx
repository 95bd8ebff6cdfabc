import { useMemo, useRef, useState } from 'preact/hooks';
import type { CollectionPart } from '../collections/collection';
import { Form, SelectField, TextField } from '../parts/form';
import { Empty, Failure, Waiting } from '../parts/notice';
import { fieldsOf, knownFields } from '../points/fields';
import { NO_FILTER, readFilter } from '../points/filter';
import { FilterBuilder } from '../points/filter-builder';
import { PointTable } from '../points/table';
import { PointPanel } from '../points/point-panel';
import { compact } from '../service/exact-json';
import { count, plural } from '../service/format';
import { useAction } from '../service/loading';
import { linkTo } from '../service/location';
import { pointsPath, result } from '../service/request';
import {
  fieldLabel,
  idText,
  parseId,
  vectorFields,
  type Point,
  type PointId,
  type VectorField,
} from '../service/types';
import { colouring, type Legend } from './colours';
import { Plot } from './plot';
import { readSample, type Sample } from './sample';

const SIZES = ['500', '1000', '2000', '5000', '10000'].map((value) => ({
  value,
  label: count(Number(value)),
}));
const NEIGHBOURS = 10;

/** Points of a collection on a plane. */
export default function MapPage({ name, info }: CollectionPart) {
  const fields = vectorFields(info).filter(({ kind }) => kind === 'dense');
  const [using, setUsing] = useState(fields[0]?.name ?? '');
  const [size, setSize] = useState('1000');
  const [filter, setFilter] = useState(NO_FILTER);
  const [drawn, setDrawn] = useState<{ sample: Sample; number: number }>();
  const sample = drawn?.sample;
  const field = fields.find((of) => of.name === using);
  const read = readFilter(filter);
  const drawing = useAction(async () => {
    if (field === undefined) return;
    const { signal } = new AbortController();
    const next = await readSample(name, field, Number(size), read.filter, signal);
    setDrawn({ sample: next, number: (drawn?.number ?? 0) + 1 });
  });
  if (field === undefined) {
    return (
      <Empty title="There is nothing to draw">
        <p>A map is drawn of dense vectors. This collection has none.</p>
      </Empty>
    );
  }
  return (
    <>
      <Form submit={drawing.run} label="What is drawn">
        <div class="columns">
          <SelectField
            label="Vector"
            value={using}
            choices={fields.map((of) => ({ value: of.name, label: fieldLabel(of) }))}
            change={setUsing}
          />
          <SelectField
            label="Points at random"
            value={size}
            choices={SIZES}
            hint="They are fetched with their vectors."
            change={setSize}
          />
        </div>
        <FilterBuilder draft={filter} change={setFilter} fields={knownFields(info, sample?.points)} />
        <button type="submit" class="primary" disabled={read.problem !== undefined || drawing.isRunning}>
          {sample === undefined ? 'Draw the map' : 'Draw another sample'}
        </button>
      </Form>
      <Failure error={drawing.error} />
      {drawing.isRunning && <Waiting what="the points and their vectors" />}
      {sample === undefined && !drawing.isRunning && <First name={name} isEmpty={info.points_count === 0} />}
      {drawn !== undefined && <Drawn key={drawn.number} name={name} field={field} sample={drawn.sample} />}
    </>
  );
}

function First({ name, isEmpty }: { name: string; isEmpty: boolean }) {
  return (
    <Empty title={isEmpty ? 'There is nothing to draw yet' : 'No map yet'}>
      <p>
        {isEmpty
          ? 'A map needs points.'
          : 'A sample of the points is projected onto a plane in this browser. Points that are alike are near each other.'}
      </p>
      {isEmpty && (
        <a class="button primary" href={linkTo('collections', name, 'upload')}>
          Upload points
        </a>
      )}
    </Empty>
  );
}

interface DrawnProps {
  readonly name: string;
  readonly field: VectorField;
  readonly sample: Sample;
}

/** What is marked: points in a lasso, or the neighbours of one. */
interface Marking {
  readonly title: string;
  readonly points: readonly Point[];
}

function useMarking({ name, field, sample }: DrawnProps) {
  const [chosen, setChosen] = useState<PointId>();
  const [marking, setMarking] = useState<Marking>();
  const wanted = useRef<PointId | undefined>(undefined);
  const finding = useAction(async () => {
    // A point that is chosen meanwhile has its turn.
    for (let id = wanted.current; id !== undefined; id = wanted.current === id ? undefined : wanted.current) {
      setMarking(await neighboursOf(name, field, id));
    }
  });
  return {
    chosen,
    marking,
    finding,
    choose: (id: PointId | undefined) => {
      wanted.current = id;
      setChosen(id);
      finding.run();
    },
    lasso: (indexes: readonly number[]) => {
      wanted.current = undefined;
      setChosen(undefined);
      const points = indexes.flatMap((index) => sample.points[index] ?? []);
      setMarking(
        points.length === 0 ? undefined : { title: `${plural(points.length, 'point')} in the lasso`, points },
      );
    },
  };
}

async function neighboursOf(name: string, { name: using }: VectorField, id: PointId): Promise<Marking> {
  const body = { query: id, limit: NEIGHBOURS, with_payload: true, ...(using !== '' && { using }) };
  const { points } = await result<{ points: Point[] }>('POST', pointsPath(name, 'query'), body, {
    exact: true,
  });
  return { title: `Neighbours of ${idText(id)}`, points };
}

function Drawn(props: DrawnProps) {
  const { name, sample } = props;
  const [colourBy, setColourBy] = useState('');
  const { chosen, marking, finding, choose, lasso } = useMarking(props);
  const colours = useMemo(() => colouring(sample.points, colourBy), [sample, colourBy]);
  const places = new Map(sample.points.map(({ id }, index) => [compact(id), index]));
  const marked = new Set((marking?.points ?? []).flatMap(({ id }) => places.get(compact(id)) ?? []));
  const fields = fieldsOf(sample.points);
  return (
    <>
      <div class="row spread">
        <SelectField
          label="Colour by"
          value={colourBy}
          choices={[{ value: '', label: 'nothing' }, ...fields.map((value) => ({ value, label: value }))]}
          change={setColourBy}
        />
        <ChooseById choose={choose} />
      </div>
      <Plot
        points={sample.points}
        colouring={colours}
        marked={marked}
        chosen={chosen === undefined ? undefined : places.get(compact(chosen))}
        choose={(index) => {
          choose(sample.points[index]?.id);
        }}
        lasso={lasso}
      />
      <MapLegend legend={colours.legend} />
      <p class="hint">
        {plural(sample.points.length, 'point')} in the plane of the two principal components, which show{' '}
        {(sample.explained * 100).toFixed(0)} % of the variance: points that look near can differ in what the
        plane does not show. A click finds the neighbours in the whole collection, a drag marks points.
      </p>
      <Failure error={finding.error} />
      {marking !== undefined && (
        <Marked key={marking.title} name={name} marking={marking} isScored={chosen !== undefined} />
      )}
    </>
  );
}

function MapLegend({ legend }: { legend: readonly Legend[] }) {
  if (legend.length === 0) return null;
  return (
    <ul class="map-legend" aria-label="Colours">
      {legend.map(({ label, colour, count: points }) => (
        <li key={label}>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <circle cx="5" cy="5" r="5" fill={colour} />
          </svg>
          {label} <span class="faint">{count(points)}</span>
        </li>
      ))}
    </ul>
  );
}

/** More rows would make the page slow, and say little. */
const MOST_ROWS = 100;

function Marked({ name, marking, isScored }: { name: string; marking: Marking; isScored: boolean }) {
  const [opened, setOpened] = useState<PointId>();
  return (
    <section>
      <h2>{marking.title}</h2>
      {marking.points.length > MOST_ROWS && <p class="hint">The first {MOST_ROWS} of them.</p>}
      <div class={opened === undefined ? '' : 'split'}>
        <PointTable
          points={marking.points.slice(0, MOST_ROWS)}
          selected={opened}
          select={setOpened}
          isScored={isScored}
        />
        {opened !== undefined && (
          <PointPanel
            key={compact(opened)}
            name={name}
            id={opened}
            changed={() => undefined}
            close={() => {
              setOpened(undefined);
            }}
          />
        )}
      </div>
    </section>
  );
}

/** For the keyboard, and for points that are not in the sample. */
function ChooseById({ choose }: { choose: (id: PointId) => void }) {
  const [text, setText] = useState('');
  return (
    <Form
      label="Neighbours of a point"
      submit={() => {
        const id = parseId(text);
        if (id !== undefined) choose(id);
      }}
    >
      <div class="inline-field">
        <TextField label="Id" mono value={text} placeholder="7 or a UUID" change={setText} />
        <button type="submit" disabled={text === ''}>
          Find neighbours
        </button>
      </div>
    </Form>
  );
}
