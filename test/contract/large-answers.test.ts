import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNativeEngine, type Engine } from '../../src/engine';
import { send, startService, type Service } from '../http/harness';
import { until } from '../until';

jest.mock('../../src/engine/load', () => jest.requireActual<object>('../engine/testing-addon'));

const MIB = 1024 * 1024;
const POINTS = 4000;
/** All points with a payload of 4 KiB each: more than the buffers of both sockets take. */
const ALL = { limit: POINTS, with_payload: true };

let folder: string;
let engine: Engine;
let service: Service;
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  folder = mkdtempSync(join(tmpdir(), 'kithdb-large-answers-'));
  engine = openNativeEngine({ dataDir: folder, searchThreads: 2 });
  await engine.open();
  service = await startService({
    realEngine: engine,
    limits: { bodyBytes: 8 * MIB },
    admits: {
      bodyBytes: 8 * MIB,
      answers: { bytes: 64 * MIB, stalledMs: 60_000, watchIntervalMs: 10 },
    },
  });
  await send(service, 'PUT', '/collections/c', { json: { vectors: { size: 2, distance: 'Dot' } } });
  for (let from = 0; from < POINTS; from += 1000) {
    const points = Array.from({ length: 1000 }, (_, place) => ({
      id: from + place,
      vector: [place, 1],
      payload: { text: 'x'.repeat(4096) },
    }));
    expect((await send(service, 'PUT', '/collections/c/points', { json: { points } })).status).toBe(200);
  }
});

afterEach(async () => {
  sockets.forEach((socket) => socket.destroy());
  await service.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function refusals(): number {
  return service.requests.refusals.get('answer_bytes') ?? 0;
}

/** A client that asks for all points and reads nothing; its answer is in the server's memory. */
async function deafClient(): Promise<void> {
  const body = JSON.stringify(ALL);
  const refused = refusals();
  const socket = createConnection(service.port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket.pause());
  const answers = service.admission.answerBytes;
  socket.write(
    'POST /collections/c/points/scroll HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until(() => service.admission.answerBytes > answers || refusals() > refused);
}

it('C1.5 unread answers refuse further large ones, and nothing else', async () => {
  for (let count = 0; count < 8; count += 1) {
    await deafClient();
  }
  const held = service.admission.answerBytes;
  expect(held).toBeGreaterThan(32 * MIB);
  expect(held).toBeLessThanOrEqual(64 * MIB);
  const refused = await send(service, 'POST', '/collections/c/points/scroll', { json: ALL });
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
  expect(refused.body.status.error).toBe(
    'Too many bytes of answers that are not read from this address: its share is 58720256 bytes while the server is busy',
  );
  for (let round = 0; round < 50; round += 1) {
    const path = '/collections/c/points';
    const answers = [
      await send(service, 'POST', `${path}/search`, { json: { vector: [1, 0], limit: 10 } }),
      await send(service, 'POST', `${path}/scroll`, { json: { limit: 100, with_payload: true } }),
      await send(service, 'PUT', path, { json: { points: [{ id: round, vector: [0, 0] }] } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  }
  sockets.forEach((socket) => socket.destroy());
  await service.requests.whenIdle();
  expect((await send(service, 'POST', '/collections/c/points/scroll', { json: ALL })).status).toBe(200);
});
