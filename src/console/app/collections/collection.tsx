import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { later } from '../parts/later';
import { Failure, Waiting } from '../parts/notice';
import { useInterval, useLoading, type Loading } from '../service/loading';
import { linkTo } from '../service/location';
import { path, result } from '../service/request';
import { isQdrant } from '../service/server';
import type { CollectionInfo } from '../service/types';
import { PointsPage } from '../points/browse';
import { SearchPage } from '../search/search';
import { UploadPage } from '../upload/upload';
import { Overview } from './overview';

const REFRESH_MS = 5000;

/** What the pages of a collection get. */
export interface CollectionPart {
  readonly name: string;
  readonly info: CollectionInfo;
  readonly reload: () => void;
}

/** The pages of a collection; the first one has no segment of its own. */
interface Tab {
  /** Whether the server has it; absent for always. */
  readonly isThere?: () => boolean;
  readonly tab: string;
  readonly label: string;
  /** `rest` are the segments behind that of the page. */
  readonly render: (part: CollectionPart, rest: readonly string[]) => ComponentChildren;
}

const MapPage = later<CollectionPart>('the map', () => import('../map/map'));
const RecallPage = later<CollectionPart>('the charts', () => import('../recall/recall'));
const SnapshotsPage = later<CollectionPart>('the snapshots', () => import('../snapshots/snapshots'));

const TABS: readonly Tab[] = [
  { tab: 'overview', label: 'Overview', render: (part) => <Overview {...part} /> },
  { tab: 'points', label: 'Points', render: (part) => <PointsPage {...part} /> },
  { tab: 'search', label: 'Search', render: (part, [id]) => <SearchPage key={id ?? ''} {...part} id={id} /> },
  { tab: 'map', label: 'Map', render: (part) => <MapPage {...part} /> },
  { tab: 'recall', label: 'Recall', render: (part) => <RecallPage {...part} /> },
  { tab: 'upload', label: 'Upload', render: (part) => <UploadPage {...part} /> },
  {
    tab: 'snapshots',
    label: 'Snapshots',
    isThere: () => isQdrant.value,
    render: (part) => <SnapshotsPage {...part} />,
  },
];

export function useCollection(name: string): Loading<CollectionInfo> {
  return useLoading(
    (signal) => result<CollectionInfo>('GET', path('collections', name), undefined, { signal }),
    [name],
  );
}

interface PageProps {
  readonly name: string;
  readonly tab: string | undefined;
  readonly rest: readonly string[];
}

export function CollectionPage({ name, tab = 'overview', rest }: PageProps) {
  const collection = useCollection(name);
  useInterval(collection.refresh, REFRESH_MS);
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a narrow screen it may be beyond the edge.
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [tab]);
  const { render } = TABS.find((of) => of.tab === tab) ?? TABS[0] ?? {};
  return (
    <>
      <header class="page-head collection-head">
        <p class="crumb">
          <a href={linkTo('collections')}>Collections</a>
        </p>
        <h1>{name}</h1>
        <nav class="tabs" aria-label="Pages of the collection" ref={tabs}>
          {TABS.filter(({ isThere }) => isThere?.() ?? true).map((of) => (
            <a
              key={of.tab}
              href={of.tab === 'overview' ? linkTo('collections', name) : linkTo('collections', name, of.tab)}
              aria-current={of.tab === tab ? 'page' : undefined}
            >
              {of.label}
            </a>
          ))}
        </nav>
      </header>
      {collection.value === undefined && collection.error === undefined && <Waiting what="the collection" />}
      {collection.value === undefined && <Failure error={collection.error} retry={collection.reload} />}
      {collection.value !== undefined &&
        render?.({ name, info: collection.value, reload: collection.reload }, rest)}
    </>
  );
}
