import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs, { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditLog } from '../../src/http/audit-log';
import {
  createAdminLive,
  noteBackupLive,
  resetPasswordLive,
  rotateSecretLive,
  stageLive,
  tokensLive,
} from '../../src/operations/control-client';
import { ContractServer, type Json } from '../contract/contract-server';
import { until } from '../until';
import { send, type Answer } from './harness';

const PASSWORD = 'Correct-Horse-9-Battery';
const OTHER_PASSWORD = 'Another-Horse-8-Battery';

const folder = mkdtempSync(join(tmpdir(), 'kithdb-audit-'));
let path: string;
let made = 0;
beforeEach(() => {
  made += 1;
  path = join(folder, `audit-${made}.log`);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The lines of the audit stream of a server that has stopped. */
function lines(): Json[] {
  const text = readFileSync(path, 'utf8').trim();
  return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line));
}

/** The lines without what every one has: by whom, and what they say of it. */
function said(): Json[] {
  return lines().map(({ time, requestId, address, ...rest }) => {
    expect([time, address]).toEqual([expect.stringMatching(/^\d{4}-/), expect.any(String)]);
    expect(requestId === undefined).toBe(address === 'control socket');
    return rest;
  });
}

it('the audit log has who changed what from where, and nothing of points', async () => {
  const server = await ContractServer.start(['--audit-log', path]);
  await server.collection('books');
  await server.call('PUT', '/collections/books/points', { points: [{ id: 1, vector: [1, 0] }] });
  await server.call('PUT', '/collections/books', { vectors: { size: 2, distance: 'Dot' } });
  await server.call('POST', '/auth/admin/login', { password: 'not the password of this test' });
  await server.call('GET', '/collections');
  await server.call('DELETE', '/collections/books');
  await server.stop();
  expect(lines().map(({ action, outcome, status }) => [action, outcome, status])).toEqual([
    ['PUT /collections/:collection_name', 'done', 200],
    ['PUT /collections/:collection_name', 'refused', 409],
    ['POST /auth/admin/login', 'refused', expect.any(Number)],
    ['DELETE /collections/:collection_name', 'done', 200],
  ]);
  expect(lines()[0]).toEqual({
    time: expect.stringMatching(/^\d{4}-/),
    requestId: expect.any(String),
    who: 'anonymous',
    address: '127.0.0.1',
    action: 'PUT /collections/:collection_name',
    collection_name: 'books',
    status: 200,
    outcome: 'done',
  });
  expect(readFileSync(path, 'utf8')).not.toContain('not the password');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await expect(ContractServer.start(['--audit-log', folder])).rejects.toThrow(
    'The audit log cannot be opened',
  );
});

describe('with authentication enabled', () => {
  let server: ContractServer;
  let jwt: string;

  const call = (credential: string, method: string, to: string, json?: unknown): Promise<Answer> =>
    send({ port: server.port }, method, to, {
      ...(json !== undefined && { json }),
      headers: { authorization: `Bearer ${credential}` },
    });
  const token = async (fields: object): Promise<{ id: number; token: string }> =>
    (await call(jwt, 'POST', '/auth/access_token', fields)).body;

  beforeEach(async () => {
    server = await ContractServer.start(['--dialect', 'qdrant', '--audit-log', path], {
      KITHDB_ADMIN_PASSWORD: PASSWORD,
      KITHDB_AUTH_ENABLED: 'true',
    });
    const login = await send({ port: server.port }, 'POST', '/auth/admin/login', {
      json: { password: PASSWORD },
    });
    jwt = login.body.token;
  });
  afterEach(() => server.stop());

  it('says which token was made, renewed and deleted by whom, and what a token did or was refused', async () => {
    const grants = [{ name: 'books', permission: 'read' }];
    const maker = await token({ name: 'ops', permission: 'write,admin' });
    const limited = await token({
      name: 'shop',
      permission: 'read',
      collections: grants,
      filter: { must: { key: 'tenant', match: { value: 'secret-tenant' } } },
    });
    await call(maker.token, 'POST', '/auth/access_token', { name: 'x', permission: 'read', filtr: {} });
    const renewed = await call(maker.token, 'POST', `/auth/access_token/${limited.id}/rotate`);
    await call(jwt, 'PUT', '/collections/books', { vectors: { size: 2, distance: 'Dot' } });
    await call(renewed.body.token, 'DELETE', '/collections/books');
    await call('kith_nobody', 'DELETE', '/collections/books');
    await call(maker.token, 'DELETE', `/auth/access_token/${limited.id}`);
    await call(jwt, 'PATCH', '/auth/enabled', { enabled: true });
    await call(jwt, 'POST', '/auth/admin/reset-password', { password: OTHER_PASSWORD });
    await server.halt();
    const secrets = [
      PASSWORD,
      OTHER_PASSWORD,
      maker.token,
      limited.token,
      renewed.body.token,
      jwt,
      'secret-tenant',
    ];
    for (const secret of secrets) expect(readFileSync(path, 'utf8')).not.toContain(secret);
    const who = `token ${maker.id}`;
    const create = 'POST /auth/access_token';
    const [rotate, remove] = ['POST /auth/access_token/:id/rotate', 'DELETE /auth/access_token/:id'];
    const shop = { id: limited.id, name: 'shop', permission: 'read', collections: grants, filtered: true };
    const drop = { action: 'DELETE /collections/:collection_name', collection_name: 'books' };
    const done = { status: 200, outcome: 'done' };
    expect(said()).toEqual([
      { who: 'none', action: 'POST /auth/admin/login', ...done },
      { who: 'admin', action: create, id: maker.id, name: 'ops', permission: 'write,admin', ...done },
      { who: 'admin', action: create, ...shop, ...done },
      { who, action: create, status: 400, outcome: 'refused' },
      { who, action: rotate, ...shop, ...done },
      { who: 'admin', action: 'PUT /collections/:collection_name', collection_name: 'books', ...done },
      { who: `token ${limited.id}`, ...drop, status: 403, outcome: 'refused' },
      { who: 'none', ...drop, status: 401, outcome: 'refused' },
      { who, action: remove, id: String(limited.id), ...done },
      { who: 'admin', action: 'PATCH /auth/enabled', enabled: true, ...done },
      { who: 'admin', action: 'POST /auth/admin/reset-password', ...done },
    ]);
  });

  it('says what became of which snapshot, also where its content left the server', async () => {
    const ok = async (method: string, to: string, json?: unknown): Promise<Answer> => {
      const answer = await call(jwt, method, to, json);
      expect([method, to, answer.status]).toEqual([method, to, 200]);
      return answer;
    };
    await ok('PUT', '/collections/books', { vectors: { size: 2, distance: 'Dot' } });
    const one = '/collections/books/snapshots';
    const { name } = (await ok('POST', one)).body.result;
    await ok('GET', one);
    await ok('PUT', `${one}/recover`, { location: `file:///somewhere/${name}` });
    await ok('PUT', `${one}/${name}/recover`);
    const file = await fetch(`http://127.0.0.1:${server.port}${one}/${name}`, {
      headers: { authorization: `Bearer ${jwt}` },
    });
    const form = new FormData();
    form.append('snapshot', new Blob([await file.arrayBuffer()]), 'any.snapshot');
    const sent = await fetch(`http://127.0.0.1:${server.port}${one}/upload`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${jwt}` },
    });
    expect(sent.status).toBe(200);
    const all = (await ok('POST', '/snapshots')).body.result.name;
    await ok('PUT', '/snapshots/recover', { location: all });
    const refused = await call(jwt, 'PUT', '/snapshots/recover', {
      location: 'https://user:secret-of-this@x/y',
    });
    expect(refused.status).toBe(400);
    await ok('DELETE', `${one}/${name}`);
    await ok('DELETE', `/snapshots/${all}`);
    await server.halt();
    expect(readFileSync(path, 'utf8')).not.toContain('secret-of-this');
    const at = '/collections/:collection_name/snapshots';
    const of = { collection_name: 'books', snapshot_name: name };
    const line = (action: string, fields: object): object => ({
      ...{ who: 'admin', action, status: 200, outcome: 'done' },
      ...fields,
    });
    expect(said().slice(2)).toEqual([
      line(`POST ${at}`, of),
      line(`PUT ${at}/recover`, of),
      line(`PUT ${at}/:snapshot_name/recover`, of),
      line(`GET ${at}/:snapshot_name`, of),
      line(`POST ${at}/upload`, { collection_name: 'books' }),
      line('POST /snapshots', { snapshot_name: all }),
      line('PUT /snapshots/recover', { snapshot_name: all }),
      line('PUT /snapshots/recover', { status: 400, outcome: 'refused' }),
      line(`DELETE ${at}/:snapshot_name`, of),
      line('DELETE /snapshots/:snapshot_name', { snapshot_name: all }),
    ]);
  });

  it('names the collections and aliases of a batch, the copy of a clone and the key of a field index', async () => {
    await call(jwt, 'PUT', '/collections/books', { vectors: { size: 2, distance: 'Dot' } });
    const actions = [
      { create_alias: { collection_name: 'books', alias_name: 'shelf' } },
      { rename_alias: { old_alias_name: 'shelf', new_alias_name: 'rack' } },
      { delete_alias: { alias_name: 'rack' } },
    ];
    await call(jwt, 'POST', '/collections/aliases', { actions });
    const unknown = { create_alias: { collection_name: 'absent', alias_name: 'a', key: 'secret-of-this' } };
    await call(jwt, 'POST', '/collections/aliases', { actions: [unknown, 7, null] });
    await call(jwt, 'POST', '/collections/aliases', { actions: [], padding: 'x'.repeat(300_000) });
    const many = Array.from({ length: 1002 }, () => ({ delete_alias: { alias_name: 'a' } }));
    await call(jwt, 'POST', '/aliases', { actions: many });
    await call(jwt, 'POST', '/collections/books/clone', { name: 'copy' });
    await call(jwt, 'POST', '/collections/books/clone', { name: ['copy'] });
    await call(jwt, 'PUT', '/collections/books/index', { field_name: 'year', field_schema: 'integer' });
    await call(jwt, 'DELETE', '/collections/books/index/year');
    await server.halt();
    expect(readFileSync(path, 'utf8')).not.toContain('secret-of-this');
    const found = said().slice(2);
    const change = 'POST /collections/aliases';
    const done = { who: 'admin', status: 200, outcome: 'done' };
    const refused = { who: 'admin', status: 400, outcome: 'refused' };
    const [clone, index] = ['clone', 'index'].map((rest) => `/collections/:collection_name/${rest}`);
    const books = { collection_name: 'books' };
    expect(found.slice(0, 3)).toEqual([
      { action: change, actions, ...done },
      {
        action: change,
        actions: [{ create_alias: { collection_name: 'absent', alias_name: 'a' } }, {}, {}],
        ...refused,
      },
      {
        action: change,
        body: 'longer than 262144 bytes',
        who: 'admin',
        status: expect.any(Number),
        outcome: expect.any(String),
      },
    ]);
    expect([found[3].actions.length, found[3].more_actions]).toEqual([1000, 2]);
    expect(found.slice(4)).toEqual([
      { action: `POST ${clone}`, ...books, name: 'copy', ...done },
      { action: `POST ${clone}`, ...books, ...refused },
      { action: `PUT ${index}`, ...books, field_name: 'year', ...done },
      { action: `DELETE ${index}/:field_name`, ...books, field_name: 'year', ...done },
    ]);
  });
});

it('has what commands on the machine asked the control socket for', async () => {
  const server = await ContractServer.start(['--audit-log', path]);
  const { dataDir } = server;
  expect(await resetPasswordLive(dataDir, PASSWORD)).not.toBe('done');
  expect(await createAdminLive(dataDir, PASSWORD)).toBe('done');
  expect(await resetPasswordLive(dataDir, OTHER_PASSWORD)).toBe('done');
  expect(await rotateSecretLive(dataDir)).toBe('done');
  const lifetime = { description: null, lifetimeSeconds: null };
  const create = { kind: 'create token', name: 'ci', permission: 'read', ...lifetime } as const;
  const created = await tokensLive(dataDir, create);
  if (typeof created !== 'object') throw new Error(`no token was made: ${created}`);
  const [{ id, token } = { id: 0, token: '' }] = created.tokens;
  await tokensLive(dataDir, { ...create, permission: 'everything' });
  const rotated = await tokensLive(dataDir, { kind: 'rotate token', id });
  if (typeof rotated !== 'object') throw new Error(`the token was not rotated: ${rotated}`);
  await tokensLive(dataDir, { kind: 'list tokens' });
  await tokensLive(dataDir, { kind: 'delete token', id });
  await tokensLive(dataDir, { kind: 'delete token', id });
  await (await stageLive(dataDir))?.end();
  expect(await noteBackupLive(dataDir)).toBe('done');
  await server.stop();
  for (const secret of [PASSWORD, OTHER_PASSWORD, String(token), String(rotated.tokens[0]?.token)]) {
    expect(readFileSync(path, 'utf8')).not.toContain(secret);
  }
  expect(lines().every(({ address }) => address === 'control socket')).toBe(true);
  const ci = { id, name: 'ci', permission: 'read' };
  expect(said()).toEqual(
    [
      { action: 'reset password', outcome: 'refused' },
      { action: 'create admin', outcome: 'done' },
      { action: 'reset password', outcome: 'done' },
      { action: 'rotate secret', outcome: 'done' },
      { action: 'create token', ...ci, outcome: 'done' },
      { action: 'create token', name: 'ci', permission: 'everything', outcome: 'refused' },
      { action: 'rotate token', ...ci, outcome: 'done' },
      { action: 'delete token', id, outcome: 'done' },
      { action: 'delete token', id, outcome: 'refused' },
      { action: 'backup', outcome: 'done' },
      { action: 'note backup', outcome: 'done' },
    ].map((line) => ({ who: 'operator', ...line })),
  );
});

describe('the end of the audit log', () => {
  let child: ChildProcess | undefined;
  let sockets: Socket[] = [];
  afterEach(() => {
    jest.restoreAllMocks();
    child?.kill('SIGKILL');
    sockets.forEach((socket) => socket.destroy());
    sockets = [];
  });

  it('comes when the write that runs is over', async () => {
    const { write } = fs;
    const slow = jest.spyOn(fs, 'write').mockImplementation((...args: Parameters<typeof write>) => {
      setTimeout(() => {
        write(...args);
      }, 50);
    });
    const audit = new AuditLog(path);
    const written = Array.from({ length: 200 }, (_, at) => ({ at, action: 'x'.repeat(80) }));
    written.forEach(audit.write);
    expect(slow).toHaveBeenCalled();
    await audit.close();
    expect(lines()).toEqual(written);
  });

  /** Sends the head of a request, and resolves when the server has it and asks for the body. */
  async function begun(port: number, target: string, bodyBytes: number): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(
      `POST ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${bodyBytes}\r\nExpect: 100-continue\r\n\r\n`,
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 100 /);
    return socket;
  }

  it('has a line for what was answered before a second signal ended the process', async () => {
    const script = join(__dirname, 'server-process.cjs');
    const flags = ['--port', '0', '--data-dir', mkdtempSync(join(folder, 'data-')), '--audit-log', path];
    child = spawn(process.execPath, [script, ...flags, '--patient'], {
      env: { PATH: process.env['PATH'], KITHDB_TOKEN_STORE: 'memory' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let logged = '';
    child.stderr?.on('data', (piece: Buffer) => (logged += piece.toString()));
    const [port] = (await once(child, 'message')) as [number];
    // The stop waits for this one.
    await begun(port, '/collections/c/points/search', 10);
    const body = JSON.stringify({ password: 'not the password of this test' });
    const login = await begun(port, '/auth/admin/login', body.length);
    child.kill('SIGTERM');
    await until(() => logged.includes('stopping'));
    login.write(body);
    await once(login, 'data');
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(said()).toMatchObject([{ action: 'POST /auth/admin/login', outcome: 'refused' }]);
  });
});
