/** An endpoint of C4 to C6 under a collection, and a body that it takes. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly body?: Record<string, unknown>;
  /** The codes that the specification lists for it; none for an endpoint that it does not have. */
  readonly listed?: readonly (400 | 404 | 409 | 412 | 500)[];
  /** The prefix of its internal failures (C1.4). */
  readonly failed: string;
  /** Does not answer 404 for a collection that does not exist. */
  readonly needsNoCollection?: true;
  /** Takes a filter here. */
  readonly filterAt?: 'filter' | 'searches[0].filter' | 'update_filter';
  /** Requires these fields. */
  readonly requires?: readonly string[];
  /** Names points in `points` or `ids`, absent ones being a 404. */
  readonly namesPoints?: 'points' | 'ids';
}

const SEARCH = 'Search failed';
const PAYLOAD = 'Payload operation failed';
const COLLECTION = 'Collection operation failed';
/** What the specification lists for every endpoint of points. */
const USUAL = [400, 404, 412, 500] as const;
const SELECTED = { points: [1] };

export const ENDPOINTS: readonly Endpoint[] = [
  { method: 'GET', path: '', listed: [404, 412, 500], failed: COLLECTION },
  {
    method: 'PUT',
    path: '',
    listed: [400, 409, 412, 500],
    body: { vectors: { size: 2, distance: 'Dot' } },
    failed: COLLECTION,
    needsNoCollection: true,
  },
  { method: 'PATCH', path: '', listed: [404, 412, 500], body: {}, failed: COLLECTION },
  { method: 'DELETE', path: '', listed: [412, 500], failed: COLLECTION, needsNoCollection: true },
  { method: 'GET', path: '/exists', listed: [412], failed: COLLECTION, needsNoCollection: true },
  {
    method: 'PUT',
    path: '/points',
    listed: USUAL,
    body: { points: [{ id: 1, vector: [1, 2] }] },
    failed: 'Upsert failed',
    requires: ['points'],
    filterAt: 'update_filter',
  },
  {
    method: 'POST',
    path: '/points',
    listed: USUAL,
    body: { ids: [1] },
    failed: 'Retrieve failed',
    requires: ['ids'],
    namesPoints: 'ids',
  },
  { method: 'GET', path: '/points/1', failed: 'Retrieve failed' },
  {
    method: 'POST',
    path: '/points/delete',
    listed: USUAL,
    body: SELECTED,
    failed: 'Delete failed',
    filterAt: 'filter',
  },
  {
    method: 'PUT',
    path: '/points/vectors',
    listed: USUAL,
    body: { points: [{ id: 1, vector: [1, 2] }] },
    failed: 'Upsert failed',
    requires: ['points'],
    filterAt: 'update_filter',
  },
  {
    method: 'POST',
    path: '/points/vectors/delete',
    body: { ...SELECTED, vector: [''] },
    failed: 'Delete failed',
    requires: ['vector'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/payload',
    listed: USUAL,
    body: { ...SELECTED, payload: {} },
    failed: PAYLOAD,
    requires: ['payload'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'PUT',
    path: '/points/payload',
    listed: USUAL,
    body: { ...SELECTED, payload: {} },
    failed: PAYLOAD,
    requires: ['payload'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/payload/delete',
    listed: USUAL,
    body: { ...SELECTED, keys: ['a'] },
    failed: PAYLOAD,
    requires: ['keys'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/payload/clear',
    listed: USUAL,
    body: SELECTED,
    failed: PAYLOAD,
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/batch',
    body: { operations: [{ delete: SELECTED }] },
    failed: 'Upsert failed',
    requires: ['operations'],
  },
  {
    method: 'PUT',
    path: '/points/sync',
    body: { scope: { must: { key: 'a', match: { value: 1 } } }, hash_key: 'h', points: [] },
    failed: 'Sync failed',
    requires: ['scope', 'hash_key', 'points'],
  },
  {
    method: 'POST',
    path: '/points/sync/plan',
    body: { scope: { must: { key: 'a', match: { value: 1 } } }, hash_key: 'h', points: [] },
    failed: 'Sync failed',
    requires: ['scope', 'hash_key', 'points'],
  },
  {
    method: 'PUT',
    path: '/index',
    listed: USUAL,
    body: { field_name: 'a', field_schema: 'keyword' },
    failed: 'Field index failed',
    requires: ['field_name', 'field_schema'],
  },
  { method: 'DELETE', path: '/index/a', failed: 'Field index failed' },
  {
    method: 'POST',
    path: '/points/search',
    listed: USUAL,
    body: { vector: [1, 2] },
    failed: SEARCH,
    requires: ['vector'],
    filterAt: 'filter',
  },
  {
    method: 'POST',
    path: '/points/search/batch',
    listed: USUAL,
    body: { searches: [{ vector: [1, 2] }] },
    failed: SEARCH,
    requires: ['searches'],
    filterAt: 'searches[0].filter',
  },
  {
    method: 'POST',
    path: '/points/query',
    listed: USUAL,
    body: { query: [1, 2] },
    failed: SEARCH,
    filterAt: 'filter',
  },
  {
    method: 'POST',
    path: '/points/query/batch',
    listed: USUAL,
    body: { searches: [{ query: [1, 2] }] },
    failed: SEARCH,
    requires: ['searches'],
    filterAt: 'searches[0].filter',
  },
  { method: 'POST', path: '/points/scroll', listed: USUAL, body: {}, failed: SEARCH, filterAt: 'filter' },
  { method: 'POST', path: '/points/count', listed: USUAL, body: {}, failed: SEARCH, filterAt: 'filter' },
];

/** The endpoints that a test is about, each behind its title. */
export function endpoints(
  wanted: (endpoint: Endpoint) => boolean = () => true,
): [title: string, endpoint: Endpoint][] {
  return ENDPOINTS.filter(wanted).map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]);
}
