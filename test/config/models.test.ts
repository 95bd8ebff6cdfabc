import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, readFlags } from '../../src/config';
import type { TextModel } from '../../src/models/model';

const folder = mkdtempSync(join(tmpdir(), 'kithdb-models-config-'));
const keyFile = join(folder, 'key');
writeFileSync(keyFile, 'sk-1\n');
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const load = (env: Record<string, string>): readonly TextModel[] =>
  loadConfig({ commandLine: readFlags([]), env, terminal: false }).models;

const ENTRY = { name: 'small', url: 'http://127.0.0.1:11434/v1/', model: 'e' };

describe('C16 the setting models', () => {
  const model = { name: 'small', url: 'http://127.0.0.1:11434/v1', model: 'e' };

  it('C16 is a YAML list, a file with it, or a part of the settings file', () => {
    const yaml = `- name: small\n  url: ${ENTRY.url}\n  model: e\n  key_file: ${keyFile}\n  dimension: 3\n`;
    const whole = { ...model, keyFile, dimension: 3 };
    expect(load({ KITHDB_MODELS: yaml })).toEqual([whole]);
    expect(load({ KITHDB_MODELS: JSON.stringify([ENTRY]) })).toEqual([model]);
    const list = join(folder, 'models.yaml');
    writeFileSync(list, yaml);
    expect(load({ KITHDB_MODELS: list })).toEqual([whole]);
    const settings = join(folder, 'settings.yaml');
    writeFileSync(settings, `models:\n${yaml.replaceAll(/^/gm, '  ').trimEnd()}\n`);
    expect(load({ KITHDB_CONFIG: settings })).toEqual([whole]);
    expect(load({})).toEqual([]);
    const local = { name: 'local', path: folder, pooling: 'cls', normalize: true, dimension: 3 };
    expect(load({ KITHDB_MODELS: JSON.stringify([local]) })).toEqual([local]);
  });

  it.each([
    ['/nowhere/models.yaml', 'KITHDB_MODELS: /nowhere/models.yaml cannot be read (no such file)'],
    ['[', 'KITHDB_MODELS is not valid YAML'],
    [[7], '[0]: must be an object'],
    [[{ ...ENTRY, name: ' ' }], '[0].name: must be a text that is not empty'],
    [[{ ...ENTRY, name: 'Qdrant/BM25' }], '[0].name: Qdrant/BM25 is built in'],
    [[ENTRY, ENTRY], "[1].name: there are two models 'small'"],
    [[{ ...ENTRY, uri: 'x' }], '[0].uri: unknown key'],
    [[{ ...ENTRY, url: 'ftp://a/v1' }], '[0].url: must begin with http:// or https://'],
    [[{ ...ENTRY, url: 'http://u:p@a/v1' }], '[0].url: must have no user and no password'],
    [[{ ...ENTRY, url: 'http://a/v1?key=1' }], '[0].url: must have no query'],
    [[{ ...ENTRY, dimension: 0 }], '[0].dimension: must be a whole number from 1 to 65536'],
    [[{ ...ENTRY, key_file: '/nowhere/key' }], "key_file of 'small' cannot be read (no such file)"],
    [[{ name: 'local', path: '/nowhere/local' }], "path of 'local' cannot be read (no such file)"],
    [[{ name: 'local', path: keyFile }], "path of 'local' must be a folder"],
    [
      [{ name: 'local', path: folder, url: 'http://a/v1' }],
      '[0].url: unknown key, expected name, path, pooling',
    ],
    [[{ name: 'local', path: folder, pooling: 'sum' }], '[0].pooling: must be mean, cls, max or last'],
    [[{ name: 'local', path: folder, normalize: 1 }], '[0].normalize: must be true or false'],
  ])('C16 names what is wrong with %j', (given, why) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    expect(() => load({ KITHDB_MODELS: text })).toThrow(why);
  });
});
