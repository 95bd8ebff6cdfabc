import { Acknowledgements } from '../../src/cluster/coordinator/acknowledgements';
import { Writes, type WriteParts } from '../../src/cluster/coordinator/writes';
import type { CollectionEntry } from '../../src/cluster/map/state';
import type { ShardOutcome } from '../../src/cluster/record/answer';
import { EngineError } from '../../src/engine/types';

const COLLECTION = { id: 1, group: 0, writeConsistencyFactor: 2 } as CollectionEntry;
const PARTS = new Map([[0, Buffer.from('{}')]]);
const RECORD = { operation: 'upsert_points', isLenient: false, coordinator: 'a', parts: PARTS } as const;
const OUTCOMES: ReadonlyMap<number, ShardOutcome> = new Map([[0, { answer: '{"result":true}' }]]);

describe('a write whose replicas have answered on a connection that was lost', () => {
  const acknowledgements = new Acknowledgements();
  const recall = jest.fn<ReturnType<WriteParts['recall']>, Parameters<WriteParts['recall']>>();
  const over = new AbortController();

  function publish(): Promise<unknown> {
    const log = { publish: () => Promise.resolve({ sequence: 7, isDuplicate: false }) };
    const parts = { acknowledgements, recall, logs: { group: () => log } };
    const deadline = { signal: over.signal, at: performance.now() + 60_000 };
    return new Writes(parts as unknown as WriteParts).publish(COLLECTION, 'id', RECORD, deadline);
  }

  beforeEach(() => {
    jest.useFakeTimers();
    recall.mockReset();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('C30.1 is answered with what they say when they are asked', async () => {
    recall.mockResolvedValue(OUTCOMES);
    const answered = publish();
    await jest.advanceTimersByTimeAsync(4_000);
    expect(recall).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await answered).toEqual({ outcomes: OUTCOMES, position: 7 });
    expect(recall.mock.calls[0]?.[1]).toMatchObject({ operationId: 'id', position: 7 });
    // Nobody waits for what else was asked.
    expect(recall.mock.calls[0]?.[2].signal.aborted).toBe(true);
  });

  it('C30.6 is not known where they have no answer, until its deadline', async () => {
    recall.mockRejectedValue(new EngineError('outcome_unknown'));
    const answered = publish();
    const failed = expect(answered).rejects.toMatchObject({ code: 'not_confirmed', details: { id: 'id' } });
    await jest.advanceTimersByTimeAsync(30_000);
    expect(recall).toHaveBeenCalledTimes(1);
    over.abort(new EngineError('timeout'));
    await failed;
  });
});
