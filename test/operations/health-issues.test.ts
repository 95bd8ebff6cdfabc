import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { BackgroundPanics, HealthIssue } from '../../src/engine/types';
import { reportHealthIssues } from '../../src/operations/health-report';
import { HURRIED, ServerChild } from '../crash/server-child';
import { sleep, until } from '../until';

it('a health issue is logged once when it begins and once when it is over', async () => {
  const aside: HealthIssue = { kind: 'quarantine', collection: 'old', what: 'known since the start' };
  let issues: readonly HealthIssue[] = [
    aside,
    { kind: 'checkpoint', collection: 'a', what: 'first attempt' },
  ];
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  let panics: BackgroundPanics = { counts: [], events: [] };
  const engine = { healthIssues: () => issues, panics: () => panics, refresh: () => Promise.resolve() };
  const stop = reportHealthIssues(engine, log, 1);
  await until(() => lines.length === 1);
  issues = [aside, { kind: 'checkpoint', collection: 'a', what: 'second attempt' }];
  await sleep(20);
  issues = [aside, { kind: 'disk_full', what: 'no room' }];
  await until(() => lines.length === 3);
  issues = [];
  await until(() => lines.length === 5);
  const panic = { number: 1, task: 'vacuum', collection: 'a', what: 'index out of bounds' };
  panics = { counts: [], events: [panic] };
  await until(() => lines.length === 6);
  expect(lines.pop()).toMatchObject({ level: 50, task: 'vacuum', collection: 'a', what: panic.what });
  stop();
  issues = [{ kind: 'log', what: 'after the end' }];
  await sleep(20);
  expect(
    lines.map(({ level, health_issue, collection, what }) => [level, health_issue, collection, what]),
  ).toEqual([
    [50, 'checkpoint', 'a', 'first attempt'],
    [50, 'disk_full', undefined, 'no room'],
    [30, 'checkpoint', 'a', undefined],
    [30, 'quarantine', 'old', undefined],
    [30, 'disk_full', undefined, undefined],
  ]);
  expect(lines.every(({ msg }) => typeof msg === 'string' && msg !== '')).toBe(true);
});

it('a server that cannot write a checkpoint says so in its metrics and in its log until it can', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-health-issues-'));
  const child = new ServerChild(dataDir, { launcher: HURRIED });
  const url = await child.ready;
  const put = (path: string, body: unknown) =>
    fetch(`${url}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const failing = async (): Promise<string | undefined> =>
    /^kithdb_health_issues\{kind="checkpoint"\} (\d+)$/m.exec(
      await (await fetch(`${url}/metrics`)).text(),
    )?.[1];
  expect(await failing()).toBe('0');
  // Where the folder of the first collection is to be, the disk has something else.
  const inTheWay = join(dataDir, 'collections', '0000000000000001');
  mkdirSync(join(dataDir, 'collections'), { recursive: true });
  writeFileSync(inTheWay, '');
  expect((await put('/collections/c', { vectors: { size: 4, distance: 'Dot' } })).status).toBe(200);
  const points = Array.from({ length: 500 }, (_, id) => ({ id, vector: [id, 1, 2, 3] }));
  expect((await put('/collections/c/points', { points })).status).toBe(200);
  await until(async () => (await failing()) === '1', 20);
  await until(() => child.output.includes('a checkpoint cannot be written'));
  const line = child.output.split('\n').find((text) => text.includes('a checkpoint cannot be written'))!;
  expect(JSON.parse(line)).toMatchObject({
    level: 'error',
    health_issue: 'checkpoint',
    collection: 'c',
    what: expect.stringContaining('collections/0000000000000001'),
  });
  rmSync(inTheWay);
  await until(async () => (await failing()) === '0', 20);
  child.signal('SIGTERM');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  rmSync(dataDir, { recursive: true });
});

it('a server whose background work panics goes on, counts it and logs it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-panics-'));
  const child = new ServerChild(dataDir, { launcher: HURRIED, env: { PANIC_IN: 'housekeeping:1' } });
  const url = await child.ready;
  const metric = async (name: string): Promise<string | undefined> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return text.split('\n').find((line) => line.startsWith(`${name} `));
  };
  const counted = 'kithdb_background_panics_total{task="housekeeping"}';
  await until(async () => (await metric(counted)) === `${counted} 1`, 20);
  await until(() => child.output.includes('background work failed'));
  const line = child.output.split('\n').find((text) => text.includes('background work failed'))!;
  expect(JSON.parse(line)).toMatchObject({
    level: 'error',
    task: 'housekeeping',
    what: 'asked to panic by a test',
  });
  // The thread is back: it has finished a round.
  const issues = 'kithdb_health_issues{kind="background"}';
  await until(async () => (await metric(issues)) === `${issues} 0`, 20);
  child.signal('SIGTERM');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  rmSync(dataDir, { recursive: true });
});
