import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { BadRequestError, NotFoundError, OverloadedError } from '../../src/client/errors';
import { httpTransport } from '../../src/client/http-transport';
import type { ByteTransport, Call } from '../../src/client/transport';
import { openFolder } from '../../src/embedded/open';
import { exportLines, type Exported, type ExportOptions } from '../../src/transfer/export';
import { exportParquet } from '../../src/transfer/parquet-export';
import { ContractServer } from '../contract/contract-server';
import { Member } from '../embedded/member';
import { runCommand } from './run-command';

const POINTS = 60;
const PAGE = 10;

let folder: string;
let transport: ByteTransport;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-export-'));
  transport = await openFolder(join(folder, 'data'));
  await fill(transport);
});
afterEach(async () => {
  await transport.close();
  await Member.killAll();
  rmSync(folder, { recursive: true });
});

function point(id: number, text = 'old'): object {
  return { id, payload: { text }, vector: [id, 1] };
}

async function fill(to: ByteTransport): Promise<void> {
  const body = { vectors: { size: 2, distance: 'Dot' } };
  await to.execute({ operation: 'create_collection', collection: 'c', body });
  const points = Array.from({ length: POINTS }, (_, at) => point(10 * at));
  await to.execute({ operation: 'upsert_points', collection: 'c', body: { points } });
}

const BEFORE = Array.from({ length: POINTS }, (_, at) => point(10 * at));

/** Writes between the pages: points that are added, changed and deleted everywhere. */
class WritingReader extends Writable {
  readonly chunks: Buffer[] = [];

  constructor(private readonly database: ByteTransport) {
    super({ highWaterMark: 1 });
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    this.chunks.push(chunk);
    this.change().then(() => {
      callback();
    }, callback);
  }

  get points(): unknown[] {
    const text = Buffer.concat(this.chunks).toString();
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown);
  }

  private async change(): Promise<void> {
    const points = Array.from({ length: POINTS }, (_, at) => [
      point(10 * at, 'new'),
      point(10 * at + 5, 'added'),
    ]).flat();
    await this.database.execute({ operation: 'upsert_points', collection: 'c', body: { points } });
    const last = 10 * (POINTS - 1);
    const body = { points: [last, last - 10] };
    await this.database.execute({ operation: 'delete_points', collection: 'c', body });
  }
}

function options(given: Partial<ExportOptions> = {}): ExportOptions {
  return {
    transport,
    collection: 'c',
    filter: undefined,
    withVectors: true,
    pagePoints: PAGE,
    needsOneView: true,
    progressed: () => undefined,
    ...given,
  };
}

async function exported(given: Partial<ExportOptions> = {}, writer = transport) {
  const reader = new WritingReader(writer);
  const outcome = await exportLines(options(given), reader);
  return { outcome, points: reader.points };
}

const WHOLE: Exported = { points: POINTS, isOneView: true };

/** The transport, but what it does with some calls. */
function changed(react: (call: Call, pages: number) => Call | Error): ByteTransport {
  let pages = 0;
  return {
    execute: (call) => transport.execute(call),
    executeBytes: (call) => {
      pages += 1;
      const reaction = react(call, pages);
      return reaction instanceof Error ? Promise.reject(reaction) : transport.executeBytes(reaction);
    },
    version: () => transport.version(),
    close: () => Promise.resolve(),
  };
}

const bodyOf = (call: Call): { cursor?: unknown } => call.body as { cursor?: unknown };

test('C18, C22 what is written during an export of a folder does not show', async () => {
  expect(await exported()).toEqual({ outcome: WHOLE, points: BEFORE });
});

test('C18, C22 nor in one of a folder that another process has open', async () => {
  const other = await Member.open(join(folder, 'theirs'));
  const attached = await openFolder(join(folder, 'theirs'));
  expect(attached.role()).toBe(`attached to process ${other.pid}`);
  await fill(attached);
  expect(await exported({ transport: attached }, attached)).toEqual({ outcome: WHOLE, points: BEFORE });
  await attached.close();
});

test('C22 nor in one of a server, nor in one to Parquet', async () => {
  const server = await ContractServer.start();
  const http = httpTransport(`http://127.0.0.1:${server.port}`);
  await fill(http);
  const whole = { outcome: WHOLE, points: BEFORE };
  expect(await exported({ transport: http, needsOneView: false }, http)).toEqual(whole);
  await http.close();
  await server.stop();
  const parquet = new WritingReader(transport);
  expect(await exportParquet(options(), parquet)).toEqual(WHOLE);
});

test('C22 a server that keeps no view is exported without one, which the outcome says', async () => {
  const refusals = [
    new BadRequestError('unknown field: cursor', 400),
    new OverloadedError('1000 cursors', 429),
  ];
  for (const refusal of refusals) {
    const refusing = changed((call) => (bodyOf(call).cursor === undefined ? call : refusal));
    const { outcome, points } = await exported({ transport: refusing, needsOneView: false });
    expect(outcome.isOneView).toBe(false);
    expect(points).toContainEqual(point(205, 'added'));
    await expect(exported({ transport: refusing })).rejects.toBe(refusal);
  }
  const passingOver = changed((call) => ({ ...call, body: { ...bodyOf(call), cursor: undefined } }));
  const { outcome } = await exported({ transport: passingOver, needsOneView: false });
  expect(outcome.isOneView).toBe(false);
  await expect(exported({ transport: passingOver })).rejects.toThrow(
    'The view that the export read has ended',
  );
});

test('C22 where the view ends an export of a server goes on, and one of a folder ends', async () => {
  const ending = (): ByteTransport =>
    changed((call, pages) =>
      bodyOf(call).cursor !== undefined && pages > 3 ? new NotFoundError('Cursor not found', 404) : call,
    );
  const { outcome, points } = await exported({ transport: ending(), needsOneView: false });
  expect(outcome.isOneView).toBe(false);
  expect(points.slice(0, 3 * PAGE)).toEqual(BEFORE.slice(0, 3 * PAGE));
  const ids = points.map((found) => (found as { id: number }).id);
  expect(new Set(ids).size).toBe(ids.length);
  await expect(exported({ transport: ending() })).rejects.toThrow('The view that the export read has ended');
});

test('C22 the command says whether it was one view', async () => {
  const to = join(folder, 'out.jsonl');
  const { out } = await runCommand(['export', 'c', '--data-dir', join(folder, 'data'), '--to', to]);
  expect(out).toBe(`60 points of c in ${to}. All are of one view of the collection.\n`);
  const lines = readFileSync(to, 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(BEFORE);
});
