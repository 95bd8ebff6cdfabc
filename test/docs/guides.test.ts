/** What guides say to run and to configure that needs something to stand in: an endpoint, another database, a proxy. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { startBuiltServer } from '../clients/guarded-server';
import { runCommand } from '../cli/run-command';
import { ContractServer } from '../contract/contract-server';
import { embeddings, FakeEndpoint, sendJson } from '../models/fake-endpoint';
import { chromaInfo, FakeChroma } from '../migration/fake-chroma';
import { snippetsOf } from './page';
import { Shell } from './shell';

const ROOT = join(__dirname, '..', '..');
const COMMAND = join(ROOT, 'bin', 'kithdb.js');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-guide-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function page(name: string): string {
  return readFileSync(join(ROOT, 'docs', name), 'utf8');
}

/** The blocks of a language that is no program. */
function blocks(name: string, language: string): string[] {
  const fences = page(name).matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'));
  return [...fences].map(([, text = '']) => text);
}

/** The code of the block of a page that has a text, with others in place of some. */
function code(name: string, having: string, others: Readonly<Record<string, string>>): string {
  const found = snippetsOf(page(name)).find((snippet) => snippet.code.includes(having))?.code;
  if (found === undefined) throw new Error(`${name} has no block with ${having}`);
  return withOthers(found, others);
}

function withOthers(text: string, others: Readonly<Record<string, string>>): string {
  return Object.entries(others).reduce((now, [from, to]) => {
    expect(now).toContain(from);
    return now.replaceAll(from, to);
  }, text);
}

test('migrate.md: the commands copy the collections of a server that stands in for Qdrant', async () => {
  const source = await ContractServer.start(['--dialect', 'qdrant']);
  const shell = inFolder();
  try {
    await source.ok('PUT', '/collections/notes', { vectors: { size: 2, distance: 'Dot' } });
    await source.ok('PUT', '/collections/notes/points', { points: [{ id: 1, vector: [1, 2] }] });
    const from = `http://127.0.0.1:${source.port}`;
    await shell.run(code('migrate.md', 'migrate qdrant', { 'http://127.0.0.1:6333': from, '=…': '=key' }));
    expect(await shell.run('kithdb collections --json')).toContain('"points":1');
  } finally {
    await shell.end();
    await source.stop();
  }
});

test('migrate.md: and those of one that stands in for Chroma', async () => {
  const source = new FakeChroma({
    notes: { info: chromaInfo('notes', {}, { dimension: 2 }), records: [{ id: '1', embedding: [3, 4] }] },
  });
  const shell = inFolder();
  try {
    const from = await source.start();
    await shell.run(code('migrate.md', 'migrate chroma', { 'http://127.0.0.1:8000': from }));
    expect(await shell.run('kithdb collections --json')).toContain('"points":1');
  } finally {
    await shell.end();
    await source.stop();
  }
});

function inFolder(): Shell {
  const place = join(folder, 'page');
  mkdirSync(place);
  return new Shell(place);
}

test('guides/behind-a-proxy.md: the command starts a server, which believes that proxy and no other', async () => {
  const [, name = '', value = ''] = /^(KITHDB_\w+)=(\S+) npm start$/.exec(
    code('guides/behind-a-proxy.md', 'npm start', {}),
  )!;
  // The proxy of this test is on this machine.
  for (const [proxies, client] of [
    [value, '127.0.0.1'],
    [`${value},127.0.0.1/32`, '203.0.113.7'],
  ] as const) {
    const audit = join(folder, `${client}.log`);
    const server = await ContractServer.start([], { [name]: proxies, KITHDB_AUDIT_LOG: audit });
    try {
      const answer = await fetch(`http://127.0.0.1:${server.port}/auth/admin/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.7' },
        body: '{"password": "wrong"}',
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
    } finally {
      await server.stop();
    }
    expect(readFileSync(audit, 'utf8')).toContain(`"address":"${client}"`);
  }
});

test('guides/mcp.md: an assistant that starts the command of the configuration gets the tools', async () => {
  const [text = ''] = blocks('guides/mcp.md', 'json');
  const { mcpServers } = JSON.parse(text) as {
    readonly mcpServers: Readonly<
      Record<string, { readonly command: string; readonly args: readonly string[] }>
    >;
  };
  const { command, args } = mcpServers['notes']!;
  expect([command, ...args.slice(0, 2)]).toEqual(['npx', '--no', 'kithdb']);
  const given = args.slice(2).map((word) => (word === '/srv/notes' ? folder : word));
  const client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env['PATH'] ?? '' };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [COMMAND, ...given], env }),
  );
  try {
    const { tools } = await client.listTools();
    const rows = page('guides/mcp.md').matchAll(/^\| `(\w+)`/gm);
    const reading = [...rows].map(([, tool]) => tool).filter((tool) => tool !== 'upsert');
    expect(tools.map(({ name }) => name).sort()).toEqual(reading.sort());
  } finally {
    await client.close();
  }
});

test('guides/reembedding.md: the command embeds anew what a server has', async () => {
  const endpoint = await FakeEndpoint.start();
  const models = [{ name: 'letters', url: endpoint.url, model: 'fake' }];
  const server = await ContractServer.start([], { KITHDB_MODELS: JSON.stringify(models) });
  const shell = inFolder();
  try {
    const model = { name: 'old', text_key: 'text' };
    await server.collection('birds', { vectors: { text: { size: 2, distance: 'Cosine', model } } });
    const point = { id: 1, vector: { text: [1, 0] }, payload: { text: 'Owls hunt at night.' } };
    await server.ok('PUT', '/collections/birds/points', { points: [point] });
    const own = { 'http://127.0.0.1:6363': `http://127.0.0.1:${server.port}` };
    const printed = await shell.run(code('guides/reembedding.md', 'kithdb reembed', own));
    expect(printed).toContain('1 point embedded');
    const { config } = await server.ok('GET', '/collections/birds');
    expect(config.params.vectors.text).toMatchObject({ size: 3 });
  } finally {
    await shell.end();
    await server.stop();
    await endpoint.stop();
  }
});

test('guides/text.md: models of the settings file make the vectors of texts', async () => {
  const [endpointModels = '', folderModels = ''] = blocks('guides/text.md', 'yaml');
  const endpoint = await FakeEndpoint.start();
  // As many components as the guide says.
  const dimension = Number(/dimension: (\d+)/.exec(endpointModels)?.[1]);
  endpoint.answer = (response, { input }) => {
    const vector = (text: string): number[] => Array.from({ length: dimension }, (_, at) => text.length + at);
    sendJson(response, 200, embeddings(input, vector));
  };
  const key = join(folder, 'key');
  writeFileSync(key, 'secret\n');
  const settings = join(folder, 'kithdb.yaml');
  const own = { 'https://api.openai.com/v1': endpoint.url, '/run/secrets/openai': key };
  writeFileSync(settings, withOthers(endpointModels, own));
  const server = await startBuiltServer(join(folder, 'data'), ['--config', settings]);
  try {
    const call = async (method: string, path: string, body: unknown): Promise<unknown> => {
      const answer = await fetch(`${server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return ((await answer.json()) as { result: unknown }).result;
    };
    await call('PUT', '/collections/birds', { vectors: { dense: { size: dimension, distance: 'Cosine' } } });
    const points = [{ id: 1, vector: { dense: { text: 'sleeping birds', model: 'small' } } }];
    await call('PUT', '/collections/birds/points', { points });
    const prefetch: unknown = JSON.parse(
      /`(\{"query": \{"text": "sleeping birds", "model": "small"\}.*?)`/.exec(page('guides/text.md'))![1]!,
    );
    const found = await call('POST', '/collections/birds/points/query', {
      prefetch: [prefetch],
      query: { fusion: 'rrf' },
    });
    expect(found).toEqual({ points: [expect.objectContaining({ id: 1 })] });
    expect(endpoint.calls[0]).toMatchObject({
      path: '/v1/embeddings',
      authorization: 'Bearer secret',
      model: 'text-embedding-3-small',
    });
  } finally {
    await server.stop();
    await endpoint.stop();
  }
  // The model of a folder has no libraries here: a command that reads the setting accepts it up to its loading.
  writeFileSync(settings, withOthers(folderModels, { '/srv/models/all-MiniLM-L6-v2': folder }));
  const { err } = await runCommand([
    'query',
    'birds',
    '--data-dir',
    join(folder, 'data'),
    '--config',
    settings,
  ]);
  expect(err).toMatch(
    /models names the model 'local', which cannot be used: .*(?:kithdb-models-|has no model)/,
  );
});
