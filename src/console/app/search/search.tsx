import { useEffect, useState } from 'preact/hooks';
import type { CollectionPart } from '../collections/collection';
import { Form, Segments } from '../parts/form';
import { Empty, Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { FilterBuilder } from '../points/filter-builder';
import { knownFields } from '../points/fields';
import { PointPanel } from '../points/point-panel';
import { PointTable } from '../points/table';
import { compact, type JsonObject, type RawNumber } from '../service/exact-json';
import { milliseconds, plural } from '../service/format';
import { useAction } from '../service/loading';
import { linkTo } from '../service/location';
import { pointsPath, send } from '../service/request';
import { vectorFields, type Point, type PointId } from '../service/types';
import { ExplanationView, type Explanation } from './explanation';
import { Cards } from './cards';
import { Parameters } from './parameters';
import { bodyOf, newSearch, type SearchDraft } from './query';
import { QueryFields } from './query-fields';
import { TargetRecall } from './target-recall';

interface Found {
  readonly points: readonly Point[];
  /** In the server, in milliseconds. */
  readonly ms: number;
  readonly explanation: Explanation | undefined;
}

interface Answer {
  readonly time: number | RawNumber;
  readonly result: { readonly points: readonly Point[] };
  readonly explain?: Explanation;
}

async function search(name: string, body: JsonObject): Promise<Found> {
  const answer = (await send('POST', pointsPath(name, 'query'), body, { exact: true })) as Answer;
  const seconds = typeof answer.time === 'number' ? answer.time : Number(answer.time.rawJSON);
  return { points: answer.result.points, ms: seconds * 1000, explanation: answer.explain };
}

/** Searches a collection by id, text or vector, with all parameters. `id` is of a point to start from. */
export function SearchPage({ name, info, reload, id }: CollectionPart & { id: string | undefined }) {
  const fields = vectorFields(info);
  const [draft, setDraft] = useState(() => newSearch(fields, id));
  const [found, setFound] = useState<Found>();
  const { body, problem } = bodyOf(draft);
  const searching = useAction(async () => {
    if (body !== undefined) setFound(await search(name, body));
  });
  useEffect(() => {
    if (id !== undefined) searching.run();
  }, []);
  const change = (over: Partial<SearchDraft>): void => {
    setDraft({ ...draft, ...over });
  };
  if (info.points_count === 0) return <NothingToSearch name={name} />;
  return (
    <>
      <Form submit={searching.run} label="Search">
        <QueryFields draft={draft} change={change} fields={fields} />
        <FilterBuilder
          draft={draft.filter}
          change={(filter) => {
            change({ filter });
          }}
          fields={knownFields(info, found?.points)}
        />
        {draft.mode !== 'random' && (
          <TargetRecall
            value={draft.targetRecall}
            ofCollection={info.config.hnsw_config['target_recall']}
            disabled={draft.exact}
            change={(targetRecall) => {
              change({ targetRecall });
            }}
          />
        )}
        <Parameters draft={draft} change={change} />
        <div class="form-end">
          <button type="submit" class="primary" disabled={problem !== undefined || searching.isRunning}>
            {searching.isRunning ? 'Searching …' : 'Search'}
          </button>
          {problem !== undefined && <p class="hint">{problem}</p>}
        </div>
      </Form>
      {body !== undefined && (
        <RequestView request={{ method: 'POST', path: pointsPath(name, 'query'), body }} />
      )}
      <Failure error={searching.error} />
      {found?.explanation !== undefined && <ExplanationView explanation={found.explanation} />}
      {found !== undefined && <Results name={name} found={found} changed={reload} again={searching.run} />}
    </>
  );
}

const VIEWS = [
  { value: 'table', label: 'Table' },
  { value: 'cards', label: 'Cards' },
];

interface ResultsProps {
  readonly name: string;
  readonly found: Found;
  readonly changed: () => void;
  readonly again: () => void;
}

function Results({ name, found, changed, again }: ResultsProps) {
  const [view, setView] = useState('table');
  const [selected, setSelected] = useState<PointId>();
  const { points, ms } = found;
  if (points.length === 0)
    return <Empty title="Nothing was found">{`The server took ${milliseconds(ms)}.`}</Empty>;
  return (
    <section aria-label="Results">
      <div class="row spread">
        <p class="hint" role="status">
          {plural(points.length, 'point')} in {milliseconds(ms)}
        </p>
        <Segments label="View" value={view} choices={VIEWS} change={setView} />
      </div>
      <div class={selected === undefined ? '' : 'split'}>
        {view === 'table' ? (
          <PointTable points={points} selected={selected} select={setSelected} isScored />
        ) : (
          <Cards points={points} select={setSelected} />
        )}
        {selected !== undefined && (
          <PointPanel
            key={compact(selected)}
            name={name}
            id={selected}
            changed={() => {
              changed();
              again();
            }}
            close={() => {
              setSelected(undefined);
            }}
          />
        )}
      </div>
    </section>
  );
}

function NothingToSearch({ name }: { name: string }) {
  return (
    <Empty title="There is nothing to search yet">
      <p>A search needs points.</p>
      <a class="button primary" href={linkTo('collections', name, 'upload')}>
        Upload points
      </a>
    </Empty>
  );
}
