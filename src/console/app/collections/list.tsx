import { useState } from 'preact/hooks';
import { Empty, Failure, Waiting } from '../parts/notice';
import { TextField } from '../parts/form';
import { RecallMark } from './recall-mark';
import { StatusMark } from './status';
import { bytes, count, plural } from '../service/format';
import { useInterval, useLoading } from '../service/loading';
import { linkTo } from '../service/location';
import { path, result } from '../service/request';
import { vectorFields, type CollectionInfo, type VectorField } from '../service/types';

/** Collections of one page: each is described by a request of its own. */
const PAGE_SIZE = 25;
const REFRESH_MS = 5000;
/** Requests that run at a time. */
const MAX_AT_ONCE = 6;

export async function listNames(signal?: AbortSignal): Promise<readonly string[]> {
  const { collections } = await result<{ collections: { name: string }[] }>(
    'GET',
    '/collections',
    undefined,
    signal && { signal },
  );
  return collections.map(({ name }) => name);
}

/** One that cannot be read has the error in place of the description. */
type Described = readonly [name: string, info: CollectionInfo | Error];

async function describe(names: readonly string[], signal: AbortSignal): Promise<readonly Described[]> {
  const described: Described[] = [];
  for (let from = 0; from < names.length; from += MAX_AT_ONCE) {
    const group = names.slice(from, from + MAX_AT_ONCE).map(async (name): Promise<Described> => {
      const info = await result<CollectionInfo>('GET', path('collections', name), undefined, {
        signal,
      }).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
      return [name, info];
    });
    described.push(...(await Promise.all(group)));
  }
  return described;
}

export function CollectionsPage() {
  const names = useLoading(listNames, []);
  const [search, setSearch] = useState('');
  const [page, setPage] = useState(0);
  useInterval(names.refresh, REFRESH_MS);
  const wanted = search.trim().toLowerCase();
  const found = (names.value ?? []).filter((name) => name.toLowerCase().includes(wanted));
  const from = Math.min(page, Math.max(0, Math.ceil(found.length / PAGE_SIZE) - 1)) * PAGE_SIZE;
  const isMany = (names.value?.length ?? 0) > PAGE_SIZE;
  return (
    <>
      <header class="page-head">
        <h1>Collections</h1>
        <a class="button primary" href={linkTo('create')}>
          New collection
        </a>
      </header>
      <Failure error={names.error} retry={names.reload} />
      {names.value === undefined && names.error === undefined && <Waiting what="the collections" />}
      {names.value?.length === 0 && <NoCollections />}
      {isMany && <TextField label="Find by name" value={search} change={setSearch} />}
      {names.value !== undefined && names.value.length > 0 && found.length === 0 && (
        <p class="hint">No collection has “{search}” in its name.</p>
      )}
      {found.length > 0 && <Table names={found.slice(from, from + PAGE_SIZE)} />}
      {found.length > PAGE_SIZE && (
        <Pager
          text={`${count(from + 1)} to ${count(Math.min(from + PAGE_SIZE, found.length))} of ${count(found.length)}`}
          previous={
            from > 0
              ? () => {
                  setPage(from / PAGE_SIZE - 1);
                }
              : undefined
          }
          next={
            from + PAGE_SIZE < found.length
              ? () => {
                  setPage(from / PAGE_SIZE + 1);
                }
              : undefined
          }
        />
      )}
    </>
  );
}

interface PagerProps {
  readonly text: string;
  readonly previous: (() => void) | undefined;
  readonly next: (() => void) | undefined;
}

export function Pager({ text, previous, next }: PagerProps) {
  return (
    <nav class="pager" aria-label="Parts of the list">
      <button type="button" disabled={previous === undefined} onClick={previous}>
        Previous
      </button>
      <span aria-live="polite">{text}</span>
      <button type="button" disabled={next === undefined} onClick={next}>
        Next
      </button>
    </nav>
  );
}

function NoCollections() {
  return (
    <Empty title="No collection yet">
      <p>
        A collection holds points: vectors with a payload. Make one, then add points from a JSONL or CSV file,
        or with a client.
      </p>
      <a class="button primary" href={linkTo('create')}>
        New collection
      </a>
    </Empty>
  );
}

function Table({ names }: { names: readonly string[] }) {
  const described = useLoading((signal) => describe(names, signal), [names.join('\n')]);
  useInterval(described.refresh, REFRESH_MS);
  const rows = new Map(described.value);
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label="Collections">
      <table class="collections">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Status</th>
            <th scope="col" class="number">
              Points
            </th>
            <th scope="col" class="number">
              Indexed
            </th>
            <th scope="col" class="number">
              Memory
            </th>
            <th scope="col" class="number">
              Disk
            </th>
            <th scope="col" class="number">
              Recall
            </th>
            <th scope="col">Vectors</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <Row key={name} name={name} info={rows.get(name)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ name, info }: { name: string; info: CollectionInfo | Error | undefined }) {
  return (
    <tr>
      <th scope="row">
        <a href={linkTo('collections', name)}>{name}</a>
      </th>
      {info === undefined ? (
        <td colSpan={7} class="faint">
          …
        </td>
      ) : info instanceof Error ? (
        <td colSpan={7} class="problem">
          {info.message}
        </td>
      ) : (
        <>
          <td>
            <StatusMark info={info} />
          </td>
          <td class="number">{count(info.points_count)}</td>
          <td class="number">{count(info.indexed_vectors_count)}</td>
          <td class="number">{info.size ? bytes(info.size.memory_bytes) : '–'}</td>
          <td class="number">{info.size ? bytes(info.size.disk_bytes) : '–'}</td>
          <td class="number">
            <RecallMark estimate={info.recall_estimate} />
          </td>
          <Vectors text={summaryOf(vectorFields(info))} />
        </>
      )}
    </tr>
  );
}

/** In one line: rows have one height, so that none moves when another one is described. */
function Vectors({ text }: { text: string }) {
  return (
    <td class="faint cut" title={text}>
      {text}
    </td>
  );
}

/** Vector fields in a few words. */
export function summaryOf(fields: readonly VectorField[]): string {
  const shown = fields.slice(0, 2).map(({ name, kind, params }) => {
    const of = kind === 'sparse' ? 'sparse' : `${params?.size ?? 0} · ${params?.distance ?? ''}`;
    return `${name === '' ? '' : `${name}: `}${of}${kind === 'multi' ? ', multi' : ''}`;
  });
  const more = fields.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${plural(more, 'other')}`] : [])].join('; ');
}
