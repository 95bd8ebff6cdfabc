import type { ComponentChildren } from 'preact';
import { CollectionPage } from './collections/collection';
import { CreatePage } from './collections/create';
import { CollectionsPage } from './collections/list';
import { linkTo, place } from './service/location';
import { later } from './parts/later';
import { Empty } from './parts/notice';
import { RequestsPage } from './requests/requests';
import { TokensPage } from './tokens/tokens';

/** With the library of charts. */
const ServerPage = later('the charts', () => import('./server/server'));

interface Section {
  readonly place: string;
  /** What the bar calls it; sections without are reached from others. */
  readonly label?: string;
  readonly render: (rest: readonly string[]) => ComponentChildren;
}

/** Every section of the console. */
export const SECTIONS: readonly Section[] = [
  {
    place: 'collections',
    label: 'Collections',
    render: ([name, tab, ...rest]) =>
      name === undefined ? (
        <CollectionsPage />
      ) : (
        <CollectionPage key={name} name={name} tab={tab} rest={rest} />
      ),
  },
  { place: 'create', render: () => <CreatePage /> },
  { place: 'requests', label: 'Requests', render: () => <RequestsPage /> },
  { place: 'tokens', label: 'Tokens', render: () => <TokensPage /> },
  { place: 'server', label: 'Server', render: () => <ServerPage /> },
];

/** The page of the place where the user is. */
export function Page() {
  const [section = 'collections', ...rest] = place.value;
  const found = SECTIONS.find((of) => of.place === section);
  if (found !== undefined) return <>{found.render(rest)}</>;
  return (
    <Empty title="There is no such page">
      <a href={linkTo('collections')}>To the collections</a>
    </Empty>
  );
}
