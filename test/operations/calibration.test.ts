import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { openNativeEngine } from '../../src/engine';
import { startServer, type RunningServer } from '../../src/server';
import { loadBinding } from '../engine/testing-addon';
import { send } from '../http/harness';
import { until } from '../until';

jest.mock('../../src/engine/load', () => jest.requireActual<object>('../engine/testing-addon'));

describe('C14 a panic of the calibration', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-calibration-'));
  const logged: Record<string, unknown>[] = [];
  let server: RunningServer;

  beforeAll(async () => {
    // It rests longer after each.
    loadBinding().setTestSwitches({ panicIn: 'calibration:2' });
    const commandLine = readFlags(['--port', '0', '--data-dir', dataDir, '--calibration-percent', '100']);
    const env = { KITHDB_TOKEN_STORE: 'memory' };
    server = await startServer(loadConfig({ commandLine, env, terminal: false }), {
      log: {
        log: pino({ level: 'error' }, { write: (line: string) => logged.push(JSON.parse(line)) }),
        flush: () => undefined,
      },
      print: () => undefined,
      ownsProcess: false,
      openEngine: openNativeEngine,
    });
    await server.ready;
  });
  afterAll(async () => {
    await server.stop();
    loadBinding().setTestSwitches({});
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('is logged and counted, and the work is taken up again', async () => {
    const info = async (): Promise<Record<string, unknown>> =>
      (await send(server, 'GET', '/collections/c')).body.result;
    await send(server, 'PUT', '/collections/c', {
      json: { vectors: { size: 4, distance: 'Euclid' }, hnsw_config: { full_scan_threshold: 10 } },
    });
    const points = Array.from({ length: 1000 }, (_, id) => ({ id, vector: [id % 31, id % 7, id % 3, 1] }));
    await send(server, 'PUT', '/collections/c/points?wait=true', { json: { points } });
    await until(async () => (await info())['optimizer_status'] === 'ok');
    await until(async () => (await info())['recall_estimate'] !== null);
    const said = 'a defect of the engine: background work failed. Please report it';
    await until(() => logged.filter(({ msg }) => msg === said).length === 2);
    const panics = logged.filter(({ msg }) => msg === said);
    expect(new Set(panics.map(({ task }) => task))).toEqual(new Set(['calibration']));
    await until(async () => {
      const { text } = await send(server, 'GET', '/metrics');
      return (
        text.includes('kithdb_background_panics_total{task="calibration"} 2\n') &&
        /kithdb_background_restarts_total\{task="calibration"\} [1-2]\n/.test(text)
      );
    });
    expect((await info())['status']).toBe('green');
  });
});
