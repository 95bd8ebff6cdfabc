/** C5.14: upserts with a point in each line. */
import { gzipSync } from 'node:zlib';
import { send } from '../http/harness';
import { ContractServer, type Json } from './contract-server';

const LINES = { 'content-type': 'application/x-ndjson' };

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start(['--max-points-per-request', '100']);
});
afterAll(() => server.stop());

/** Sends lines; the status, and the result or the message. */
function put(path: string, lines: string | Buffer, headers: object = {}): Promise<[number, Json]> {
  return server.put(path, Buffer.from(lines), { ...LINES, ...headers });
}

const DONE = [200, { operation_id: expect.any(Number), status: 'completed' }];

describe('C5.14 an upsert with a point in each line', () => {
  it('C5.14 each line is what the same point in a list is; blank lines and CR LF are passed over', async () => {
    const [one, other] = [await server.holding([]), await server.holding([])];
    const points = [
      '{"id":1,"vector":[1,0.25],"payload":{"a":1.0,"b":18446744073709551615,"c":"}\\n{"}}',
      ' {"id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "vector": [-0.5, 2]} ',
      '{"id":1,"vector":[3,4]}',
    ];
    await server.ok('PUT', `${one}/points`, `{"points":[${points.join(',')}]}`);
    const lines = `\n${points.join('\r\n  \r\n')}\n`;
    const type = 'Application/X-NDJSON; charset=utf-8';
    expect(await put(`${other}/points?wait=true`, lines, { 'content-type': type })).toEqual(DONE);
    expect(await server.pointsOf(other)).toEqual(await server.pointsOf(one));
    const packed = await put(`${other}/points`, gzipSync(lines), { 'content-encoding': 'gzip' });
    expect(packed).toEqual(DONE);
  });

  it('C5.14 C1.7 C1.11 a refusal names the point, and nothing is stored', async () => {
    const path = await server.holding([]);
    const good = '{"id":1,"vector":[1,2]}';
    for (const [lines, message] of [
      ['', 'points: must hold at least one point'],
      ['\n \n', 'points: must hold at least one point'],
      [`${good}\n\n{"id":2}`, 'points[1].vector'],
      [`${good}\n{"id":2,"vector":[1,2,3]}`, 'expected 2, got 3'],
      [`{"id":1,"vector":[1\n,2]}`, '(points[0].vector[0])'],
      [`${good}${good}`, 'expected the end of the line'],
      [`${good},\n${good}`, 'expected the end of the line'],
      [`{"points":[${good}]}`, 'points[0].points'],
      [Array(101).fill(good).join('\n'), 'points: at most 100 points'],
    ] as const) {
      expect(await put(`${path}/points`, lines)).toEqual([400, expect.stringContaining(message)]);
    }
    expect(await server.pointsOf(path)).toEqual({});
  });

  it('C5.14 C25 the key of a call and the versions of points are as with a list', async () => {
    const path = await server.holding([]);
    const key = { 'idempotency-key': '67e55044-10b1-426f-9247-bb680e5fe0c8' };
    const first = await put(`${path}/points`, '{"id":1,"vector":[1,2],"if_version":0}', key);
    expect(first).toEqual(DONE);
    expect(await put(`${path}/points`, '{"id":1,"vector":[9,9],"if_version":0}', key)).toEqual(first);
    expect((await put(`${path}/points`, '{"id":1,"vector":[9,9],"if_version":7}'))[0]).toBe(409);
  });

  it('C5.14 C1.5 elsewhere the type is a 415', async () => {
    const path = await server.holding([]);
    for (const rest of ['/points/vectors', '/points/batch', '/points/sync']) {
      const method = rest === '/points/batch' ? 'POST' : 'PUT';
      const answer = await send({ port: server.port }, method, path + rest, {
        body: Buffer.from('{}'),
        headers: LINES,
      });
      expect(answer.status).toBe(415);
    }
  });
});
