import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { open } from '../../src';
import { ContractServer, type Json } from '../contract/contract-server';
import { FakeEndpoint } from '../models/fake-endpoint';
import { description } from '../openapi/description';

const TOOLS = ['count', 'describe_collection', 'list_collections', 'query'];
const TOKEN = 'mcp-reader-0123456789-0123456789';
const COMMAND = join(__dirname, '..', '..', 'bin', 'kithdb.js');

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  clients.push(client);
  await client.connect(transport);
  return client;
}

const overHttp = (port: number, token?: string): Promise<Client> =>
  connected(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${String(port)}/mcp`), {
      requestInit: { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } },
    }),
  );

async function toolNames(client: Client): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).sort();
}

async function call(client: Client, name: string, args: object = {}): Promise<Json> {
  const { content, isError } = await client.callTool({ name, arguments: { ...args } });
  const [{ text }] = content as [{ text: string }];
  return isError === true ? { failed: text } : JSON.parse(text);
}

/** What both transports do the same. */
async function expectTools(client: Client, allowsWrites: boolean): Promise<void> {
  expect(await toolNames(client)).toEqual(allowsWrites ? [...TOOLS, 'upsert'].sort() : TOOLS);
  const { tools } = await client.listTools();
  const { maxLength } = description().document.components.schemas.CollectionName;
  const { collection } = tools.find(({ name }) => name === 'count')?.inputSchema.properties as Json;
  expect(collection).toMatchObject({ minLength: 1, maxLength });
  const points = [
    { id: 1, vector: [1, 0, 2], payload: { title: 'A' } },
    { id: 2, vector: { text: 'bb', model: 'letters' }, payload: { title: 'B' } },
  ];
  if (allowsWrites) {
    const written = await call(client, 'upsert', { collection: 'notes', points });
    expect(written.status).toBe('completed');
  } else {
    expect((await call(client, 'upsert', { collection: 'notes', points })).failed).toContain('not found');
  }
  expect(await call(client, 'list_collections')).toEqual({ collections: [{ name: 'notes' }] });
  const { config, points_count: count } = await call(client, 'describe_collection', { collection: 'notes' });
  expect([config.params.vectors.size, count]).toEqual([3, 2]);
  const near = await call(client, 'query', { collection: 'notes', text: 'bbb', model: 'letters', limit: 1 });
  expect(near.points).toEqual([expect.objectContaining({ id: 2, payload: { title: 'B' } })]);
  const filter = { must: [{ key: 'title', match: { value: 'A' } }] };
  const byVector = { collection: 'notes', vector: [0, 1, 1], filter, with_payload: false };
  expect((await call(client, 'query', byVector)).points.map(({ id }: Json) => id)).toEqual([1]);
  expect(await call(client, 'count', { collection: 'notes', filter })).toEqual({ count: 1 });
  // What is wrong is said to the language model.
  expect((await call(client, 'count', { collection: 'none' })).failed).toContain(
    'Collection not found: none',
  );
  expect((await call(client, 'query', { collection: 'notes', text: 'x' })).failed).toContain(
    'needs the name',
  );
  expect((await call(client, 'query', { collection: 'notes', limit: 1000 })).failed).toContain('limit');
}

describe('MCP', () => {
  let endpoint: FakeEndpoint;
  let models: string;
  beforeAll(async () => {
    endpoint = await FakeEndpoint.start();
    models = JSON.stringify([{ name: 'letters', url: endpoint.url, model: 'm' }]);
  });
  afterAll(() => endpoint.stop());

  const CONFIG = { vectors: { size: 3, distance: 'Dot' } };

  it('is served at /mcp, where it changes nothing unless the setting says so', async () => {
    const folder = { KITHDB_MODELS: models };
    const server = await ContractServer.start([], { ...folder, KITHDB_MCP: 'write' });
    try {
      await server.ok('PUT', '/collections/notes', CONFIG);
      await expectTools(await overHttp(server.port), true);
    } finally {
      await server.stop();
    }
    const reading = await ContractServer.start();
    try {
      expect(await toolNames(await overHttp(reading.port))).toEqual(TOOLS);
      expect((await reading.call('GET', '/mcp')).status).toBe(405);
    } finally {
      await reading.stop();
    }
    const off = await ContractServer.start([], { KITHDB_MCP: 'off' });
    try {
      expect((await off.call('POST', '/mcp', {})).status).toBe(404);
    } finally {
      await off.stop();
    }
  });

  it('keeps what it is given, or refuses it: integers beyond 2^53, and keys that are __proto__', async () => {
    const server = await ContractServer.start([], { KITHDB_MCP: 'write' });
    try {
      await server.ok('PUT', '/collections/notes', CONFIG);
      // As text: what a program of JavaScript writes has lost it.
      const sent = async (name: string, args: string): Promise<Json> => {
        const params = `{"name":"${name}","arguments":{"collection":"notes",${args}}}`;
        const answer = await fetch(`http://127.0.0.1:${server.port}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
        });
        const { content, isError } = ((await answer.json()) as Json).result;
        return isError === true ? { failed: content[0].text } : JSON.parse(content[0].text);
      };
      const point = (id: number, payload: string): string =>
        `{"id":${id},"vector":[1,0,2],"payload":${payload}}`;
      const payload =
        '{"__proto__":"x","n":{"__proto__":1},"most":9007199254740991,"big":"9007199254740993"}';
      expect(await sent('upsert', `"points":[${point(1, payload)}]`)).toMatchObject({ status: 'completed' });
      for (const big of ['9007199254740993', '-9007199254740992', '[{"a":1e300}]', '1e999', '[-1e999]']) {
        expect(await sent('upsert', `"points":[${point(2, '{}')},${point(3, `{"n":${big}}`)}]`)).toEqual({
          failed: expect.stringContaining('points[1].payload has an integer beyond 2^53'),
        });
      }
      const named = '{"__proto__":[1,0,2]}';
      for (const [tool, args, message] of [
        ['upsert', '"points":[{"id":9007199254740993,"vector":[1,0,2]}]', ''],
        ['upsert', `"points":[{"id":2,"vector":${named}}]`, 'Invalid input at points[0].vector'],
        ['upsert', '"points":[{"id":2,"vector":[1,0,2],"__proto__":1}]', '__proto__'],
        ['upsert', '"points":[{"id":2,"vector":[1,0,2],"payload":[]}]', 'expected an object'],
        [
          'count',
          '"filter":{"must":[{"key":"n","match":{"value":9007199254740993}}]}',
          'filter has an integer',
        ],
        ['query', '"filter":{"must":[{"key":"n","range":{"lt":9007199254740993}}]}', 'filter has an integer'],
        ['query', '"filter":{"must":[{"key":"n","range":{"lt":1e999}}]}', 'filter has an integer'],
        ['count', '"filter":{"must":[{"key":"n","range":{"gt":-1e999}}]}', 'filter has an integer'],
        ['upsert', '"points":[{"id":2,"vector":[1,0,1e999]}]', 'points[0].vector'],
        ['count', '"filter":{"__proto__":{"x":1}}', '__proto__'],
        ['count', '"filter":[]', 'expected an object'],
      ] as const) {
        const answered = await sent(tool, args);
        expect([args, answered]).toEqual([args, { failed: expect.stringContaining(message) }]);
      }
      const stored = await server.raw('POST', '/collections/notes/points/scroll', '{}');
      expect(stored.text).toContain(`"points":[{"id":1,"payload":${payload}}]`);
      const client = await overHttp(server.port);
      expect((await call(client, 'count', { collection: 'a\ud800' })).failed).toContain('surrogate pair');
      const { tools } = await client.listTools();
      const { filter } = tools.find(({ name }) => name === 'count')?.inputSchema.properties as Json;
      expect(filter).toMatchObject({ type: 'object', description: expect.any(String) });
    } finally {
      await server.stop();
    }
  });

  it('lets a credential do there what it may do elsewhere', async () => {
    const server = await ContractServer.start([], {
      KITHDB_MCP: 'write',
      KITHDB_ACCESS_TOKEN: TOKEN,
      KITHDB_ACCESS_TOKEN_PERMISSION: 'read',
    });
    try {
      await expect(overHttp(server.port)).rejects.toThrow('Invalid or missing authorization token');
      await expect(overHttp(server.port, `${TOKEN}x`)).rejects.toThrow(
        'Invalid or missing authorization token',
      );
      const client = await overHttp(server.port, TOKEN);
      expect(await call(client, 'list_collections')).toEqual({ collections: [] });
      const points = [{ id: 1, vector: [1] }];
      const refused = await call(client, 'upsert', { collection: 'c', points });
      expect(refused.failed).toContain('write');
    } finally {
      await server.stop();
    }
  });

  it('answers a body that is none with an error of its own protocol or of HTTP', async () => {
    const server = await ContractServer.start();
    try {
      expect((await server.raw('POST', '/mcp', '{')).status).toBe(400);
      expect((await server.call('POST', '/mcp', { jsonrpc: '2.0' })).status).toBe(406);
    } finally {
      await server.stop();
    }
  });

  it('takes one message a request: a list of them is refused at once, and holds nothing up', async () => {
    const server = await ContractServer.start();
    try {
      const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
      const post = (body: unknown) =>
        fetch(`http://127.0.0.1:${server.port}/mcp`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(10_000),
        });
      const called = { name: 'list_collections', arguments: {} };
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: called };
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
      // More than may be under way at a time.
      for (let sent = 0; sent < 33; sent += 1) {
        const answer = await post(sent % 2 === 0 ? [call, cancel] : []);
        expect([answer.status, await answer.json()]).toEqual([
          400,
          { time: 0, status: { error: 'The body must be one message and no list' } },
        ]);
      }
      expect((await post(call)).status).toBe(200);
    } finally {
      await server.stop();
    }
  });

  it('is served by kithdb mcp over a server', async () => {
    const server = await ContractServer.start([], { KITHDB_MODELS: models });
    try {
      await server.ok('PUT', '/collections/notes', CONFIG);
      const url = `http://127.0.0.1:${String(server.port)}`;
      const env = { PATH: process.env['PATH'] ?? '' };
      const stdio = (...flags: string[]) =>
        connected(
          new StdioClientTransport({ command: process.execPath, args: [COMMAND, 'mcp', ...flags], env }),
        );
      await expectTools(await stdio('--url', url, '--write'), true);
      await expectTools(await stdio('--url', url), false);
    } finally {
      await server.stop();
    }
  });

  it('is served by kithdb mcp over a folder, with the models of the command', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-mcp-'));
    try {
      const db = await open(folder);
      await db.createCollection('notes', { vectors: { size: 3, distance: 'Dot' } });
      await db.close();
      const env = { PATH: process.env['PATH'] ?? '', KITHDB_MODELS: models };
      const stdio = (...flags: string[]) => {
        const args = [COMMAND, 'mcp', '--data-dir', folder, ...flags];
        return connected(new StdioClientTransport({ command: process.execPath, args, env }));
      };
      await expectTools(await stdio('--write'), true);
      await expectTools(await stdio(), false);
    } finally {
      await Promise.all(clients.splice(0).map((client) => client.close()));
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
