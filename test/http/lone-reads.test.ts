import { LoneReads } from '../../src/http/lone-reads';
import { send, startService, type Service } from './harness';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Which of so many reads, one in a turn of the event loop, may run on its thread. */
async function oneByOne(reads: LoneReads, count: number): Promise<boolean[]> {
  const may: boolean[] = [];
  for (let read = 0; read < count; read += 1) {
    may.push(reads.begin());
    reads.end();
    await nextTurn();
  }
  return may;
}

describe('LoneReads', () => {
  it('lets a read run on the event loop when 16 calls before it have met no other', async () => {
    const may = await oneByOne(new LoneReads(), 18);
    expect(may.lastIndexOf(false)).toBe(15);
    expect(may.slice(16)).toEqual([true, true]);
  });

  it('begins to count again when a call is under way', async () => {
    const reads = new LoneReads();
    await oneByOne(reads, 16);
    expect(reads.begin()).toBe(true);
    await nextTurn();
    expect(reads.begin()).toBe(false);
    reads.end();
    reads.end();
    await nextTurn();
    expect((await oneByOne(reads, 17)).indexOf(true)).toBe(16);
  });

  it('begins to count again when a call that might run on the event loop did not', async () => {
    const reads = new LoneReads();
    await oneByOne(reads, 16);
    expect(reads.begin()).toBe(true);
    await nextTurn();
    reads.end();
    await nextTurn();
    expect((await oneByOne(reads, 17)).indexOf(true)).toBe(16);
  });

  it('begins to count again when two calls begin in one turn of the event loop', async () => {
    const reads = new LoneReads();
    await oneByOne(reads, 16);
    const begun = [reads.begin()];
    reads.end();
    begun.push(reads.begin());
    reads.end();
    expect(begun).toEqual([true, false]);
    await nextTurn();
    expect((await oneByOne(reads, 17)).indexOf(true)).toBe(16);
  });
});

describe('a service', () => {
  let service: Service;
  beforeEach(async () => {
    service = await startService();
  });
  afterEach(() => service.close());

  const search = (): Promise<unknown> =>
    send(service, 'POST', '/collections/c/points/search', { json: { vector: [1] } });
  const ranHere = (): (boolean | undefined)[] => service.engine.requests.map((request) => request.mayRunHere);

  it('lets the reads of a client that sends one after the other run on the event loop', async () => {
    for (let sent = 0; sent < 20; sent += 1) await search();
    expect(ranHere().map(String).join(' ')).toBe(`${'false '.repeat(16)}true true true true`);
  });

  it('lets no read run there while another call is under way', async () => {
    for (let sent = 0; sent < 16; sent += 1) await search();
    let open = (): void => undefined;
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    const first = search();
    while (service.engine.requests.length < 17) await nextTurn();
    const second = search();
    while (service.engine.requests.length < 18) await nextTurn();
    open();
    await Promise.all([first, second]);
    expect(ranHere().slice(16)).toEqual([true, false]);
  });
});
