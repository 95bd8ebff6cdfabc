import { useState } from 'preact/hooks';
import type { CollectionPart } from '../collections/collection';
import { Pager } from '../collections/list';
import { Form, SelectField, TextField } from '../parts/form';
import { Empty, Failure, Waiting } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { count } from '../service/format';
import { useLoading, type Loading } from '../service/loading';
import { linkTo } from '../service/location';
import { pointsPath, result, type RequestLine } from '../service/request';
import { compact, type JsonObject } from '../service/exact-json';
import { idExamples, parseId, type Page, type PointId } from '../service/types';
import { NO_FILTER, readFilter } from './filter';
import { FilterBuilder } from './filter-builder';
import { knownFields } from './fields';
import {
  firstOf,
  offsetOf,
  readPage,
  startsAfter,
  startsBefore,
  type ShownPage,
  type Starts,
} from './paging';
import { PointPanel } from './point-panel';
import { PointTable } from './table';

const PAGE_SIZES = ['10', '25', '50', '100'].map((value) => ({ value, label: `${value} a page` }));

/** A value, and what it answers. */
interface Answer<T> {
  readonly wanted: string;
  readonly value: T;
}

/** A page, and the request that it answers. */
interface AnsweredPage extends ShownPage {
  readonly request: RequestLine;
}

/** What is read: a page of those that match. */
function useScroll(name: string, filter: JsonObject | undefined, size: string, wanted: string) {
  const [starts, setStarts] = useState<Starts>([]);
  // Another filter and another size have other pages.
  const key = `${size} ${compact(filter ?? null)}`;
  const [lastKey, setLastKey] = useState(key);
  if (lastKey !== key) {
    setLastKey(key);
    setStarts([]);
  }
  const requestFrom = (offset: PointId | undefined) => ({
    method: 'POST' as const,
    path: pointsPath(name, 'scroll'),
    body: {
      ...(filter !== undefined && { filter }),
      ...(offset !== undefined && { offset }),
      limit: Number(size),
      with_payload: true,
    },
  });
  const page = useLoading(
    async (signal): Promise<Answer<AnsweredPage>> => {
      const shown = await readPage(starts, (offset) => {
        const { method, path, body } = requestFrom(offset);
        return result<Page>(method, path, body, { exact: true, signal });
      });
      // The pages behind it are gone.
      if (shown.starts !== starts && !signal.aborted) setStarts(shown.starts);
      return { wanted, value: { ...shown, request: requestFrom(offsetOf(shown.starts)) } };
    },
    [wanted, size, compact(offsetOf(starts) ?? null)],
  );
  return { page, setStarts };
}

/**
 * How many points match. A filter without an index is evaluated for every point, so this waits until the page is there: a
 * page takes no longer where there are many points.
 */
function useCount(
  name: string,
  filter: JsonObject | undefined,
  wanted: string,
  isPageThere: boolean,
): Loading<Answer<number> | undefined> {
  return useLoading(
    async (signal) => {
      if (!isPageThere) return undefined;
      const body = filter === undefined ? {} : { filter };
      const counted = await result<{ count: number }>('POST', pointsPath(name, 'count'), body, { signal });
      return { wanted, value: counted.count };
    },
    [wanted, isPageThere],
  );
}

/** A page of the points that match, and then their number. */
function usePoints({ name, reload }: CollectionPart, filter: JsonObject | undefined, size: string) {
  const [round, setRound] = useState(0);
  const wanted = `${round} ${compact(filter ?? null)}`;
  const scroll = useScroll(name, filter, size, wanted);
  const counting = useCount(name, filter, wanted, scroll.page.value?.wanted === wanted);
  const counted = counting.value?.wanted === wanted ? counting.value.value : undefined;
  return {
    scroll,
    counted,
    isCounting: counting.isLoading,
    error: scroll.page.error ?? counting.error,
    refresh: () => {
      setRound((before) => before + 1);
      reload();
    },
  };
}

/** The points of a collection, page by page. */
export function PointsPage(part: CollectionPart) {
  const { name, info } = part;
  const [draft, setDraft] = useState(NO_FILTER);
  const [filter, setFilter] = useState<JsonObject>();
  const [size, setSize] = useState('25');
  const [selected, setSelected] = useState<PointId>();
  const { scroll, counted, isCounting, error, refresh } = usePoints(part, filter, size);
  const read = readFilter(draft);
  const isApplied = compact(read.filter ?? null) === compact(filter ?? null);
  if (info.points_count === 0 && filter === undefined && selected === undefined) {
    return <NoPoints name={name} />;
  }
  return (
    <>
      <Form
        label="Which points"
        submit={() => {
          setFilter(read.filter);
          refresh();
        }}
      >
        <FilterBuilder
          draft={draft}
          change={setDraft}
          fields={knownFields(info, scroll.page.value?.value.page.points)}
        />
        <div class="row spread">
          <div class="row">
            <button type="submit" class={isApplied ? '' : 'primary'} disabled={read.problem !== undefined}>
              {isApplied ? 'Read again' : 'Apply the filter'}
            </button>
            <OpenById open={setSelected} examples={idExamples(info)} />
          </div>
          <p class="hint" aria-live="polite">
            {counted !== undefined
              ? countText(counted, info.points_count, filter !== undefined)
              : isCounting && 'Counting …'}
          </p>
        </div>
      </Form>
      <Failure error={error} retry={refresh} />
      <div class={selected === undefined ? '' : 'split'}>
        <Listing scroll={scroll} size={size} setSize={setSize} selected={selected} select={setSelected} />
        {selected !== undefined && (
          <PointPanel
            key={compact(selected)}
            name={name}
            id={selected}
            changed={refresh}
            close={() => {
              setSelected(undefined);
            }}
          />
        )}
      </div>
    </>
  );
}

function countText(matching: number, all: number | null, isFiltered: boolean): string {
  return isFiltered ? `${count(matching)} of ${count(all)} points match` : `${count(matching)} points`;
}

interface ListingProps {
  readonly scroll: ReturnType<typeof useScroll>;
  readonly size: string;
  readonly setSize: (size: string) => void;
  readonly selected: PointId | undefined;
  readonly select: (id: PointId) => void;
}

function Listing({ scroll, size, setSize, selected, select }: ListingProps) {
  const { page, setStarts } = scroll;
  const shown = page.value?.value;
  if (shown === undefined) return page.error === undefined ? <Waiting what="the points" /> : null;
  const { points } = shown.page;
  if (points.length === 0) return <Empty title="No point matches this filter" />;
  const from = firstOf(shown);
  const to = (starts: Starts | undefined) =>
    starts === undefined
      ? undefined
      : () => {
          setStarts(starts);
        };
  return (
    <div class="stack">
      <PointTable points={points} selected={selected} select={select} />
      <div class="row spread">
        <Pager
          text={`${count(from)} to ${count(from + points.length - 1)}`}
          previous={to(startsBefore(shown))}
          next={to(startsAfter(shown))}
        />
        <SelectField label="Size of a page" value={size} choices={PAGE_SIZES} change={setSize} />
      </div>
      <RequestView request={shown.request} />
    </div>
  );
}

/** Not a form: it is inside of one. */
function OpenById({ open, examples }: { open: (id: PointId) => void; examples: string }) {
  const [text, setText] = useState('');
  const id = parseId(text);
  return (
    <div class="inline-field">
      <TextField label="Id" mono value={text} placeholder={examples} change={setText} />
      <button
        type="button"
        disabled={id === undefined}
        onClick={() => {
          if (id !== undefined) open(id);
        }}
      >
        Open
      </button>
    </div>
  );
}

function NoPoints({ name }: { name: string }) {
  return (
    <Empty title="No point yet">
      <p>Upload a JSONL or CSV file here, or write points with a client or with a request.</p>
      <div class="row">
        <a class="button primary" href={linkTo('collections', name, 'upload')}>
          Upload points
        </a>
      </div>
    </Empty>
  );
}
