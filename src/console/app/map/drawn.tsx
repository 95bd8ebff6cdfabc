import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Form, SelectField, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { cellText, fieldsOf, knownFields } from '../points/fields';
import { PointPanel } from '../points/point-panel';
import { PointTable } from '../points/table';
import { compact, type JsonValue } from '../service/exact-json';
import { count, plural } from '../service/format';
import { useAction, useLoading } from '../service/loading';
import { pointsPath, result } from '../service/request';
import {
  idExamples,
  idText,
  parseId,
  type CollectionInfo,
  type Point,
  type PointId,
  type VectorField,
} from '../service/types';
import { colouring, plainColouring, type Legend } from './colours';
import { Plot } from './plot';
import type { Projection } from './projection';
import { readPoints, readValues } from './values';
import { marksOf, type Marks } from './view';

interface Props {
  readonly name: string;
  readonly info: CollectionInfo;
  readonly projection: Projection;
}

const NEIGHBOURS = 10;
/** Points whose payloads say which fields there are. */
const LOOKED_AT = 200;
/** More rows would make the page slow, and say little. */
const MAX_ROWS = 100;
/** Rows of the table that are drawn in one frame: they take it a few milliseconds. */
const ROWS_A_FRAME = 20;

/** What is marked: points in a lasso, or the neighbours of one. */
interface Marking {
  readonly title: string;
  /** Those that are listed. */
  readonly points: readonly Point[];
  /** How many there are. */
  readonly all: number;
  readonly marks: Marks;
}

/** A projection, and what is found in it. */
export function Drawn(props: Props) {
  const { name, info, projection } = props;
  const { ids, places } = projection;
  const [colourBy, setColourBy] = useState('');
  const { values, error } = useValues(name, ids, colourBy);
  const colours = useMemo(
    () => (values === undefined ? plainColouring(ids.length) : colouring(values)),
    [values, ids],
  );
  const seen = useLoading(() => readPoints(name, ids.slice(0, LOOKED_AT), true), [ids]);
  const { chosen, marking, finding, choose, lasso, clear } = useMarking(props);
  const label = (at: number): string => {
    const value = cellText(values?.[at]);
    return `${idText(ids[at] ?? '')}${value === '' ? '' : ` · ${value.slice(0, 80)}`}`;
  };
  return (
    <>
      <div class="row spread">
        <SelectField
          label="Colour by"
          value={colourBy}
          choices={[
            { value: '', label: 'nothing' },
            ...fieldChoices(knownFields(info, seen.value), fieldsOf(seen.value ?? [])),
          ]}
          change={setColourBy}
        />
        <ChooseById choose={choose} examples={idExamples(info)} />
      </div>
      <Plot
        places={places}
        colouring={colours}
        marked={marking?.marks}
        chosen={chosen?.place}
        label={label}
        choose={(at) => {
          const id = at === undefined ? undefined : ids[at];
          if (id === undefined) clear();
          else choose(id);
        }}
        lasso={lasso}
      />
      <MapLegend legend={colours.legend} />
      <Caption projection={projection} />
      <Failure error={finding.error ?? error} />
      {marking !== undefined && (
        <Marked key={marking.title} name={name} marking={marking} isScored={chosen !== undefined} />
      )}
    </>
  );
}

/** Top-level fields; those of indexes may be paths, of which the map knows none. */
function fieldChoices(known: readonly string[], seen: readonly string[]) {
  const fields = [...new Set([...seen, ...known.filter((field) => /^[\w-]+$/.test(field))])];
  return fields.map((value) => ({ value, label: value }));
}

function Caption({ projection: { ids, method, explained } }: { projection: Projection }) {
  return (
    <p class="hint">
      {plural(ids.length, 'point')}
      {method === 'umap'
        ? ', laid out so that neighbours are near each other. How large groups are, and how far apart, means nothing. '
        : ` in the plane of the two principal components, which show ${((explained ?? 0) * 100).toFixed(0)} % of the variance: points that look near can differ in what the plane does not show. `}
      A click finds the neighbours in the whole collection, a drag marks points or, with Shift, moves the
      plane.
    </p>
  );
}

/** The values of the field that is coloured by, as they come. */
function useValues(name: string, ids: readonly PointId[], field: string) {
  const [values, setValues] = useState<readonly (JsonValue | undefined)[]>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const abort = new AbortController();
    setError(undefined);
    setValues(undefined);
    if (field !== '') {
      readValues(name, ids, field, abort.signal, (read) => {
        if (!abort.signal.aborted) setValues(read);
      }).catch((failure: unknown) => {
        if (!abort.signal.aborted && failure instanceof Error) setError(failure);
      });
    }
    return () => {
      abort.abort();
    };
  }, [name, ids, field]);
  return { values, error };
}

interface Chosen {
  readonly id: PointId;
  /** Undefined for one that is not on the map. */
  readonly place: number | undefined;
}

/** Where each point is in the list; looked up for the first time when the first is asked for. */
function usePlaces(ids: readonly PointId[]): (id: PointId) => number | undefined {
  return useMemo(() => {
    let places: ReadonlyMap<string, number> | undefined;
    return (id: PointId) => (places ??= new Map(ids.map((of, at) => [idText(of), at]))).get(idText(id));
  }, [ids]);
}

function useMarking({ name, projection: { ids, field } }: Props) {
  const [chosen, setChosen] = useState<Chosen>();
  const [marking, setMarking] = useState<Marking>();
  const placeOf = usePlaces(ids);
  const wanted = useRef<(() => Promise<Marking | undefined>) | undefined>(undefined);
  const finding = useAction(async () => {
    // What is chosen meanwhile has its turn.
    for (
      let find = wanted.current;
      find !== undefined;
      find = wanted.current === find ? undefined : wanted.current
    ) {
      setMarking(await find());
    }
  });
  const find = (by: () => Promise<Marking | undefined>): void => {
    wanted.current = by;
    finding.run();
  };
  return {
    chosen,
    marking,
    finding,
    choose: (id: PointId) => {
      setChosen({ id, place: placeOf(id) });
      find(() => neighboursOf(name, field, id, ids.length, placeOf));
    },
    lasso: (found: Marks) => {
      setChosen(undefined);
      find(() => inLasso(name, ids, found));
    },
    clear: () => {
      setChosen(undefined);
      find(() => Promise.resolve(undefined));
    },
  };
}

async function neighboursOf(
  name: string,
  { name: using }: VectorField,
  id: PointId,
  total: number,
  placeOf: (id: PointId) => number | undefined,
): Promise<Marking> {
  const body = { query: id, limit: NEIGHBOURS, with_payload: true, ...(using !== '' && { using }) };
  const { points } = await result<{ points: Point[] }>('POST', pointsPath(name, 'query'), body, {
    exact: true,
  });
  return {
    title: `Neighbours of ${idText(id)}`,
    points,
    all: points.length,
    marks: marksOf(
      total,
      points.flatMap((point) => placeOf(point.id) ?? []),
    ),
  };
}

async function inLasso(name: string, ids: readonly PointId[], marks: Marks): Promise<Marking | undefined> {
  if (marks.count === 0) return undefined;
  const listed: PointId[] = [];
  for (let at = 0; at < ids.length && listed.length < MAX_ROWS; at += 1) {
    const id = ids[at];
    if (marks.flags[at] === 1 && id !== undefined) listed.push(id);
  }
  return {
    title: `${plural(marks.count, 'point')} in the lasso`,
    points: await readPoints(name, listed, true),
    all: marks.count,
    marks,
  };
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

function Marked({ name, marking, isScored }: { name: string; marking: Marking; isScored: boolean }) {
  const [opened, setOpened] = useState<PointId>();
  const { title, points, all } = marking;
  return (
    <section>
      <h2>{title}</h2>
      {all > points.length && <p class="hint">{plural(points.length, 'point')} of them.</p>}
      <div class={opened === undefined ? '' : 'split'}>
        <PointTable
          points={points}
          selected={opened}
          select={setOpened}
          isScored={isScored}
          rowsAFrame={ROWS_A_FRAME}
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

/** For the keyboard, and for points that are not on the map. */
function ChooseById({ choose, examples }: { choose: (id: PointId) => void; examples: string }) {
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
        <TextField label="Id" mono value={text} placeholder={examples} change={setText} />
        <button type="submit" disabled={text === ''}>
          Find neighbours
        </button>
      </div>
    </Form>
  );
}
