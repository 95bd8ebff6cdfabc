import { compact } from '../../src/console/app/service/exact-json';
import { withExactNumbers } from './exact-numbers';
import { answering, moduleOf } from './page';

interface Projection {
  readonly field: unknown;
  readonly ids: readonly unknown[];
  readonly places: Float32Array;
}

const { project } = moduleOf('map/projection') as {
  readonly project: (wanted: object, method: string, signal: AbortSignal) => Promise<Projection>;
};
const { readValues } = moduleOf('map/values') as {
  readonly readValues: (
    collection: string,
    ids: readonly unknown[],
    field: string,
    signal: AbortSignal,
    report: (values: readonly unknown[]) => void,
  ) => Promise<void>;
};

describe('a map in the console', () => {
  withExactNumbers();
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const { signal } = new AbortController();

  /** The projection that an answer of the server makes. */
  const projected = (result: string): Promise<Projection> => {
    answering(() => [200, `{"result":${result}}`]);
    const field = { name: 'title', kind: 'dense' };
    const wanted = { collection: 'shop', field, sample: 10, neighbors: 15, filter: undefined, seed: 0 };
    return project(wanted, 'pca', signal);
  };
  const placed = (x: string, y: string, ids = '[1,2,3]'): Promise<Projection> =>
    projected(`{"ids":${ids},"x":${x},"y":${y},"explained_variance":1.0}`);

  it('has its places in a square, whatever their scale is', async () => {
    expect([...(await placed('[0,4,2]', '[1,2,3]')).places]).toEqual([-1, -0.5, 1, 0, 0, 0.5]);
    expect([...(await placed('[1e-40,3e-40,2e-40]', '[0,0,0]')).places]).toEqual([-1, 0, 1, 0, 0, 0]);
  });

  it('has points that all have one place in the middle', async () => {
    expect([...(await placed('[7.5,7.5,7.5]', '[-1,-1,-1]')).places]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('is of the vector that was asked for, in which neighbours are searched', async () => {
    expect((await placed('[0,1,2]', '[0,1,2]')).field).toEqual({ name: 'title', kind: 'dense' });
  });

  it('C21 has ids beyond 2^53 as they are, also beside strings with brackets', async () => {
    const ids = '["doc[1]","],",9007199254740993,18446744073709551615]';
    const map = await placed('[0,1,2,3]', '[0,1,2,3]', ids);
    expect(compact(map.ids)).toBe(ids);
  });

  it('has the values of a field as they were written, those of a member of every object too', async () => {
    const points = [
      '{"id":1,"payload":{"constructor":1.0}}',
      '{"id":2,"payload":{}}',
      '{"id":3,"payload":{"constructor":1.50}}',
    ];
    answering(() => [200, `{"result":{"points":[${points.join()}]}}`]);
    const reported: (readonly unknown[])[] = [];
    await readValues('shop', [3, 2, 1], 'constructor', signal, (values) => reported.push(values));
    expect(compact(reported)).toBe('[[1.50,null,1.0]]');
    expect(reported[0]?.[1]).toBeUndefined();
  });
});
