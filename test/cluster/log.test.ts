/** The log over a stream of messages, by one in memory. */
import { FRAME_BYTES, LogUnavailableError, OutcomeUnknownError } from '../../src/cluster/log/record-log';
import { until } from '../until';
import { MemoryLogService } from './memory-log';
import { seeded } from './random';
import { Reader, recordOf } from './records';

const LIMITS = { timeoutMs: 60_000 };

function service(faults: ConstructorParameters<typeof MemoryLogService>[2] = {}) {
  const made = new MemoryLogService('test', 1, faults);
  return { made, log: made.group(0), stream: made.groupStreams[0]!, faults: made.faults };
}

/** Bytes of several frames, other ones for each seed. */
function long(frames: number, seed: number): Buffer {
  const bytes = Buffer.alloc((frames - 1) * FRAME_BYTES + 100, seed);
  for (let frame = 0; frame < frames; frame += 1) bytes[frame * FRAME_BYTES] = frame;
  return bytes;
}

describe('publishing', () => {
  test('gives sequences in order, and a record comes back as it was published', async () => {
    const { log } = service();
    expect(await log.publish('1.0', recordOf('a', 'body'), LIMITS)).toEqual({
      sequence: 1,
      isDuplicate: false,
    });
    expect(await log.publish('1.0', recordOf('b'), LIMITS)).toEqual({ sequence: 2, isDuplicate: false });
    const reader = new Reader(log);
    await reader.untilRead(2);
    await reader.stop();
    const { payload, ...rest } = reader.records[0]!;
    expect(Buffer.from(payload).toString()).toBe('body');
    const fields = { sequence: 1, firstSequence: 1, subject: '1.0', operation: 'a', epoch: 1, kind: 'test' };
    expect(rest).toEqual({ ...fields, storedAtMs: 0 });
  });

  test('a record with a known id is not taken again', async () => {
    const { log } = service();
    await log.publish('1.0', recordOf('a'), LIMITS);
    await log.publish('1.0', recordOf('b'), LIMITS);
    expect(await log.publish('1.0', recordOf('a'), LIMITS)).toEqual({ sequence: 1, isDuplicate: true });
    expect((await log.state()).lastSequence).toBe(2);
  });

  test('where acknowledgements and messages are lost each record is there once', async () => {
    const random = seeded(1);
    const { log, faults } = service({
      lostMessages: 0.2,
      lostAcknowledgements: 0.3,
      duplicates: 0.2,
      random,
    });
    const names = Array.from({ length: 60 }, (_, number) => `operation ${number}`);
    const published = await Promise.all(names.map((name) => log.publish('1.0', recordOf(name), LIMITS)));
    faults.lostMessages = 0;
    const reader = new Reader(log);
    await reader.untilRead(names.length);
    await reader.stop();
    expect(reader.operations.toSorted()).toEqual(names.toSorted());
    for (const [at, { sequence }] of published.entries()) {
      expect(reader.records.find((record) => record.operation === names[at])?.sequence).toBe(sequence);
    }
  });

  test('at the deadline the outcome is unknown if the record may be stored', async () => {
    const { log } = service({ lostAcknowledgements: 1 });
    const failed = log.publish('1.0', recordOf('a'), { timeoutMs: 50 });
    await expect(failed).rejects.toThrow(OutcomeUnknownError);
    await expect(failed).rejects.toMatchObject({ operation: 'a' });
  });

  test('at the deadline the log is unavailable if no attempt reached it', async () => {
    const { log } = service({ isDown: true });
    await expect(log.publish('1.0', recordOf('a'), { timeoutMs: 50 })).rejects.toThrow(LogUnavailableError);
  });

  test('ends when its caller gives up', async () => {
    const { log } = service({ lostAcknowledgements: 1 });
    const stop = new AbortController();
    const failed = log.publish('1.0', recordOf('a'), { ...LIMITS, signal: stop.signal });
    stop.abort();
    await expect(failed).rejects.toThrow(OutcomeUnknownError);
  });

  test('has a longest time, so that streams still know the id of what is sent last', async () => {
    const { log } = service();
    await expect(log.publish('1.0', recordOf('a'), { timeoutMs: 600_000 })).rejects.toThrow(RangeError);
  });
});

describe('publishing with an expected sequence', () => {
  test('is a conflict where another record came between', async () => {
    const { log } = service();
    expect(await log.publishExpecting('e', recordOf('a'), 0, LIMITS)).toEqual({
      sequence: 1,
      isDuplicate: false,
    });
    expect(await log.publishExpecting('e', recordOf('b'), 0, LIMITS)).toBe('conflict');
    expect(await log.publishExpecting('e', recordOf('c'), 1, LIMITS)).toEqual({
      sequence: 2,
      isDuplicate: false,
    });
  });

  test('is no conflict with its own record, whose acknowledgement was lost', async () => {
    const { log, faults } = service({ lostAcknowledgements: 1 });
    const published = log.publishExpecting('e', recordOf('a'), 0, LIMITS);
    await new Promise(setImmediate);
    faults.lostAcknowledgements = 0;
    expect(await published).toEqual({ sequence: 1, isDuplicate: true });
  });

  test('tells a conflict from servers that are not there', async () => {
    const { log } = service({ isDown: true });
    const failed = log.publishExpecting('e', recordOf('a'), 0, { timeoutMs: 50 });
    await expect(failed).rejects.toThrow(LogUnavailableError);
  });
});

describe('frames', () => {
  test('of records that are published at once are read as records, in the order of their last frames', async () => {
    const { log } = service({ longestDelayMs: 3, random: seeded(7) });
    const payloads = new Map([1, 2, 3].map((seed) => [`long ${seed}`, long(seed + 1, seed)]));
    const published = await Promise.all(
      [...payloads].map(([name, payload]) => log.publish('1.0', recordOf(name, payload), LIMITS)),
    );
    const reader = new Reader(log);
    await reader.untilRead(3);
    await reader.stop();
    expect(reader.records.map(({ sequence }) => sequence)).toEqual(
      published.map(({ sequence }) => sequence).toSorted((one, other) => one - other),
    );
    for (const { operation, payload, firstSequence, sequence } of reader.records) {
      expect(payloads.get(operation)!.equals(payload)).toBe(true);
      expect(sequence).toBeGreaterThan(firstSequence);
    }
  });

  test('that come before the beginning of a read are fetched', async () => {
    const { log } = service();
    const payload = long(3, 5);
    const { sequence } = await log.publish('1.0', recordOf('long', payload), LIMITS);
    const reader = new Reader(log, { fromSequence: sequence });
    await reader.untilRead(1);
    await reader.stop();
    expect(payload.equals(reader.records[0]!.payload)).toBe(true);
    expect(reader.records[0]!.firstSequence).toBe(1);
  });

  test('that were removed are missing', async () => {
    const { log } = service();
    const { sequence } = await log.publish('1.0', recordOf('long', long(3, 5)), LIMITS);
    await log.truncateBelow(sequence);
    const reader = new Reader(log, { fromSequence: sequence });
    await reader.ended;
    expect(reader.failure).toMatchObject({ name: 'RecordsMissingError', fromSequence: 2, nextSequence: 3 });
  });

  test('of an id that had another payload before are no record, for any reader', async () => {
    const { log, stream } = service();
    const first = await log.publish('1.0', recordOf('a', long(2, 1)), LIMITS);
    stream.ids.delete('a#1');
    await log.publish('1.0', recordOf('a', long(2, 2)), LIMITS);
    await log.publish('1.0', recordOf('b'), LIMITS);
    for (const fromSequence of [1, first.sequence + 1]) {
      const ignored: number[] = [];
      const reader = new Reader(log, { fromSequence, onIgnored: (sequence) => ignored.push(sequence) });
      await reader.untilRead(fromSequence === 1 ? 2 : 1);
      await reader.stop();
      expect(reader.operations).toEqual(fromSequence === 1 ? ['a', 'b'] : ['b']);
      expect(ignored).toEqual([3]);
    }
  });

  test('without their last one are no record', async () => {
    const { log, stream } = service({ longestDelayMs: 1 });
    const stop = new AbortController();
    const failed = log.publish('1.0', recordOf('cut', long(100, 1)), { ...LIMITS, signal: stop.signal });
    await until(() => stream.lastSequence > 1);
    stop.abort();
    await expect(failed).rejects.toThrow(LogUnavailableError);
    await log.publish('1.0', recordOf('b'), LIMITS);
    const reader = new Reader(log);
    await reader.untilRead(1);
    await reader.stop();
    expect(reader.operations).toEqual(['b']);
  });

  test('are not more than a record may have', async () => {
    const { log } = service();
    const payload = Buffer.alloc(256 * 1024 * 1024 + 1);
    await expect(log.publish('1.0', recordOf('a', payload), LIMITS)).rejects.toThrow(RangeError);
  });
});

describe('reading', () => {
  test('gives one record after the other, and waits for the handler', async () => {
    const { log } = service();
    for (const name of ['a', 'b', 'c']) await log.publish('1.0', recordOf(name), LIMITS);
    let running = 0;
    const reader = new Reader(log, {}, async () => {
      running += 1;
      expect(running).toBe(1);
      await new Promise(setImmediate);
      running -= 1;
    });
    await reader.untilRead(3);
    await reader.stop();
    expect(reader.operations).toEqual(['a', 'b', 'c']);
  });

  test('gives only the records of its subjects', async () => {
    const { log } = service();
    for (const subject of ['1.0', '1.1', '2.0', '1.all'])
      await log.publish(subject, recordOf(subject), LIMITS);
    const reader = new Reader(log, { subjects: ['1.0', '1.all'] });
    await reader.untilRead(2);
    await reader.stop();
    expect(reader.operations).toEqual(['1.0', '1.all']);
  });

  test('goes on after interruptions without a gap or a repetition', async () => {
    const { log, stream } = service({ interruptions: 0.05, random: seeded(3) });
    const reader = new Reader(log, { subjects: ['1.*'] });
    const names = Array.from({ length: 100 }, (_, number) => String(number));
    for (const name of names) {
      await log.publish('1.0', recordOf(name), LIMITS);
      if (name.endsWith('7')) stream.interrupt();
    }
    await reader.untilRead(names.length);
    await reader.stop();
    expect(reader.operations).toEqual(names);
  });

  test('says how much of its subjects is pending', async () => {
    const { log } = service();
    for (const name of ['a', 'b']) await log.publish('1.0', recordOf(name), LIMITS);
    const pending: number[] = [];
    const reader = new Reader(log, { onPending: (count) => pending.push(count) });
    await reader.untilRead(2);
    await reader.stop();
    expect(pending).toEqual([2, 1, 0]);
  });

  test('ends with the error of its handler', async () => {
    const { log } = service();
    await log.publish('1.0', recordOf('a'), LIMITS);
    const reader = new Reader(log, {}, () => Promise.reject(new Error('no')));
    await reader.ended;
    expect(reader.failure).toMatchObject({ message: 'no' });
  });

  test('leaves out what no node published, and says so', async () => {
    const { log, stream } = service();
    stream.storeForeign('1.0', Buffer.from('?'));
    await log.publish('1.0', recordOf('a'), LIMITS);
    const ignored: number[] = [];
    const reader = new Reader(log, { onIgnored: (sequence) => ignored.push(sequence) });
    await reader.untilRead(1);
    await reader.stop();
    expect(reader.operations).toEqual(['a']);
    expect(ignored).toEqual([1]);
  });
});

describe('a stream that is not what it was', () => {
  async function filled(count: number) {
    const all = service();
    for (let number = 1; number <= count; number += 1)
      await all.log.publish('1.0', recordOf(String(number)), LIMITS);
    return all;
  }

  test.each([['>'], ['1.0']])('lacks records that were removed (subjects %s)', async (subject) => {
    const { log } = await filled(5);
    await log.truncateBelow(4);
    const reader = new Reader(log, { fromSequence: 2, subjects: [subject] });
    await reader.ended;
    expect(reader.failure).toMatchObject({ name: 'RecordsMissingError', fromSequence: 2, nextSequence: 4 });
    const behind = new Reader(log, { fromSequence: 4, subjects: [subject] });
    await behind.untilRead(2);
    await behind.stop();
    expect(behind.operations).toEqual(['4', '5']);
  });

  test('lacks a record between others', async () => {
    const { log, stream } = await filled(5);
    stream.messages.splice(2, 1);
    const reader = new Reader(log);
    await reader.ended;
    expect(reader.operations).toEqual(['1', '2']);
    expect(reader.failure).toMatchObject({ name: 'RecordsMissingError', fromSequence: 3, nextSequence: 4 });
  });

  test('is the same where its leader is behind what was delivered for a moment', async () => {
    const { log, stream } = await filled(3);
    const reader = new Reader(log);
    await reader.untilRead(3);
    const asked = jest.spyOn(stream, 'state');
    const behind = { firstSequence: 1, lastSequence: 2, created: stream.created, atMs: 0 };
    asked.mockResolvedValueOnce(behind).mockResolvedValueOnce(behind);
    stream.interrupt();
    await until(() => asked.mock.calls.length > 2);
    await log.publish('1.0', recordOf('4'), LIMITS);
    await reader.untilRead(4);
    await reader.stop();
    expect([reader.operations, reader.failure]).toEqual([['1', '2', '3', '4'], undefined]);
  });

  test('ends before the place of a reader', async () => {
    const { log } = await filled(3);
    const reader = new Reader(log, { fromSequence: 5 });
    await reader.ended;
    expect(reader.failure).toMatchObject({ name: 'LogChangedError' });
  });

  test('went back, and has other records in their place', async () => {
    const { log, stream } = await filled(3);
    const reader = new Reader(log);
    await reader.untilRead(3);
    stream.messages.pop();
    stream.lastSequence = 2;
    for (let count = 0; count < 3; count += 1) stream.storeForeign('1.0', Buffer.from('other'));
    stream.interrupt();
    await reader.ended;
    expect(reader.operations).toEqual(['1', '2', '3']);
    expect(reader.failure).toMatchObject({ name: 'LogChangedError' });
  });

  test('was made anew', async () => {
    const { log, stream } = await filled(3);
    const reader = new Reader(log);
    await reader.untilRead(3);
    stream.created = '2026-01-02T00:00:00Z';
    stream.interrupt();
    await reader.ended;
    expect(reader.failure).toMatchObject({ name: 'LogChangedError' });
  });

  test('has another operation before the beginning of a read', async () => {
    const { log } = await filled(3);
    const reader = new Reader(log, { fromSequence: 3, previousOperation: '2' });
    await reader.untilRead(1);
    await reader.stop();
    const other = new Reader(log, { fromSequence: 3, previousOperation: 'another' });
    await other.ended;
    expect(other.failure).toMatchObject({ name: 'LogChangedError' });
  });

  test('has a record whose payload is damaged', async () => {
    const { log, stream } = await filled(1);
    stream.messages[0]!.payload[0]! ^= 1;
    const reader = new Reader(log);
    await reader.ended;
    expect(reader.failure).toMatchObject({ name: 'RecordDamagedError', sequence: 1 });
  });
});
