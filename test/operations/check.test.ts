import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from '../../src';
import type { CheckReport } from '../../src/operations/check';
import { crc32c } from './crc32c';
import { kithdb, kithdbHere, kithdbWith } from './command';
import { Served } from './served';

let folder: string;
/** A directory at rest, made once; each test works on a copy. */
let sound: string;
let dataDir: string;
let copies = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-check-'));
  sound = join(folder, 'sound');
  const server = await Served.on(sound);
  for (const name of ['one', 'two']) {
    await server.create(name);
    await server.upsert(name, 0, 300);
  }
  await server.kill();
  // A start after a kill begins a new segment of the log, and cuts the old one.
  await (await Served.on(sound)).stop();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  dataDir = join(folder, `copy-${(copies += 1)}`);
  cpSync(sound, dataDir, { recursive: true });
});

async function report(...argv: string[]): Promise<{ code: number | null; report: CheckReport }> {
  const { code, out } = await kithdb('check', '--data-dir', dataDir, '--json', ...argv);
  return { code, report: JSON.parse(out) as CheckReport };
}

function files(dir: string): string[] {
  const all = readdirSync(dir, { recursive: true }) as string[];
  return all.filter((path) => statSync(join(dir, path)).isFile()).sort();
}

/** What a directory holds, the lock file's process id left out. */
function digest(dir: string): string {
  const hash = createHash('sha256');
  for (const path of files(dir).filter((path) => path !== 'lock')) {
    hash.update(path).update(readFileSync(join(dir, path)));
  }
  return hash.digest('hex');
}

function damage(path: string, at?: number): void {
  const bytes = readFileSync(join(dataDir, path));
  bytes[at ?? bytes.length >> 1]! ^= 1;
  writeFileSync(join(dataDir, path), bytes);
}

describe('C11.4 check', () => {
  it('calls a sound directory sound, in words and as JSON, and changes nothing', async () => {
    const before = digest(dataDir);
    const { code, out } = await kithdb('check', '--data-dir', dataDir);
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^collection one: sound, 300 points\ncollection two: sound, 300 points\nsound: 2 collections, \d+ files?, \d+ bytes verified\n$/,
      ),
    });
    const { report: found } = await report();
    expect(found).toMatchObject({ clean: true, findings: [], unlisted: 0, data_dir: dataDir });
    expect(found.collections).toEqual([
      { id: 1, name: 'one', points: 300, fault: null },
      { id: 2, name: 'two', points: 300, fault: null },
    ]);
    expect(digest(dataDir)).toBe(before);
  });

  it('notes that a folder which only programs have opened (C18) has no store of authentication', async () => {
    const ofPrograms = join(folder, 'of-programs');
    const db = await open(ofPrograms);
    await db.createCollection('c', { vectors: { size: 2, distance: 'Dot' } });
    await db.upsert('c', { points: [{ id: 1, vector: [1, 2] }] });
    await db.close();
    expect(await kithdbHere('check', '--data-dir', ofPrograms)).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^note: auth\.sqlite3: there is no such file, .*\n.*\nsound: 1 collection, /,
      ),
    });
    const backups = join(folder, 'backups');
    for (let made = 0; made < 2; made += 1) {
      const argv = ['backup', '--data-dir', ofPrograms, '--to', backups, '--keep', '1'];
      expect(await kithdbHere(...argv)).toMatchObject({ code: 0, err: '' });
    }
    const [kept, ...others] = readdirSync(backups);
    expect(others).toEqual([]);
    // C11.4: whether a server of it may serve everybody is to be said.
    const restored = join(folder, 'restored');
    const restore = ['restore', '--from', join(backups, kept!), '--data-dir', restored];
    expect(await kithdbHere(...restore)).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /where the data never had one because only programs opened them, give --without-auth/,
      ),
    });
    expect(await kithdbHere(...restore, '--without-auth')).toMatchObject({ code: 0 });
    expect(await kithdbHere('check', '--data-dir', restored)).toMatchObject({ code: 0 });
  });

  it('names the damaged file, the collection, the effect and what to do; the others are sound', async () => {
    const path = files(dataDir).find((path) => /0*2\/.*\.data$/.test(path))!;
    damage(path);
    const before = digest(dataDir);
    const { code, report: found } = await report();
    expect(code).toBe(1);
    expect(found.clean).toBe(false);
    expect(found.findings).toEqual([
      {
        severity: 'damage',
        file: path,
        collection: 'two',
        what: expect.stringMatching(/do not have their checksum/),
        effect: expect.stringMatching(/quarantined/),
        advice: expect.stringMatching(/restore a backup/),
      },
    ]);
    expect(found.collections).toMatchObject([
      { name: 'one', points: 300, fault: null },
      { name: 'two', points: null, fault: expect.stringMatching(/is damaged between the bytes/) },
    ]);
    const { code: codeOfOne, report: one } = await report('--collection', 'one');
    expect({ codeOfOne, findings: one.findings }).toEqual({ codeOfOne: 0, findings: [] });
    expect(one.collections.map(({ name }) => name)).toEqual(['one']);
    expect(digest(dataDir)).toBe(before);
  });

  it.each([
    ['a manifest', 'damage', /0*1\/MANIFEST$/, 40, /MANIFEST is damaged/],
    ['the catalog', 'derived', /catalog\/CATALOG$/, 20, /CATALOG is damaged/],
    ['the copy of the catalog', 'derived', /collections\/CATALOG$/, 20, /CATALOG is damaged/],
    [
      'the store of authentication',
      'damage',
      /auth\.sqlite3$/,
      100,
      /malformed|corrupt|b-tree|invalid|btree|disk image/i,
    ],
  ])('finds damage of %s', async (_, severity, name, at, what) => {
    const path = files(dataDir).find((path) => name.test(path));
    damage(path!, at);
    const { code, report: found } = await report();
    expect(code).toBe(1);
    expect(found.findings[0]).toMatchObject({
      severity,
      file: path,
      what: expect.stringMatching(what),
    });
  });

  it.each(['catalog/CATALOG', 'log/cut'])('finds that %s is gone, of which there are two', async (file) => {
    rmSync(join(dataDir, file));
    const { code, report: found } = await report();
    expect({ code, findings: found.findings }).toEqual({
      code: 1,
      findings: [
        {
          severity: 'derived',
          file,
          collection: null,
          what: expect.stringMatching(/is missing/),
          effect: expect.stringMatching(/the other is sound/),
          advice: expect.stringMatching(/the next start writes it again/),
        },
      ],
    });
  });

  it('knows what a lost catalog means, and that a later release is no damage', async () => {
    damage('catalog/CATALOG', 20);
    damage('collections/CATALOG', 20);
    const { code, report: found } = await report();
    expect(code).toBe(1);
    expect(found.findings[0]).toMatchObject({
      severity: 'damage',
      file: 'catalog/CATALOG',
      effect: expect.stringMatching(/the server does not start/),
      advice: expect.stringMatching(/restore a backup; or let `kithdb repair` find the collections/),
    });
    const log = readdirSync(join(dataDir, 'log')).find((name) => name.endsWith('.log'))!;
    const bytes = readFileSync(join(dataDir, 'log', log));
    bytes[8] = 9;
    bytes.writeUInt32LE(crc32c(bytes.subarray(0, 48)), 48);
    writeFileSync(join(dataDir, 'log', log), bytes);
    cpSync(join(sound, 'catalog'), join(dataDir, 'catalog'), { recursive: true });
    for (const verb of ['check', 'repair']) {
      expect(await kithdb(verb, '--data-dir', dataDir)).toMatchObject({
        code: verb === 'check' ? 2 : 1,
        err: expect.stringMatching(/format version 9.*use the release that wrote it, or a later one/),
      });
    }
  });

  it.each([
    [
      'a data file',
      /0*1\/.*\.data$/,
      (bytes: Buffer) => bytes.writeUInt32LE(crc32c(bytes.subarray(0, 24)), 24),
    ],
    ['a manifest', /0*1\/MANIFEST$/, (bytes: Buffer) => bytes.writeUInt32LE(crc32c(bytes.subarray(16)), 12)],
  ])('says that a later release wrote %s, and a backup has it as it is', async (_, name, seal) => {
    const path = files(dataDir).find((path) => name.test(path))!;
    const bytes = Buffer.concat([readFileSync(join(dataDir, path)), Buffer.alloc(1)]);
    bytes[8] = 99;
    seal(bytes);
    writeFileSync(join(dataDir, path), bytes);
    const err = expect.stringMatching(/format version 99.*use the release that wrote it, or a later one/);
    expect(await kithdb('check', '--data-dir', dataDir)).toEqual({ code: 2, out: '', err });
    expect(await kithdb('repair', '--data-dir', dataDir)).toEqual({ code: 1, out: '', err });
    const backup = await kithdb('backup', '--data-dir', dataDir, '--to', `${dataDir}-backup`);
    expect(backup).toMatchObject({ code: 3, err });
    expect(backup.err).not.toMatch(/damaged/);
  });

  it('makes no lock where there is none', async () => {
    rmSync(join(dataDir, 'lock'));
    expect(await report()).toMatchObject({ code: 0 });
    expect(readdirSync(dataDir)).not.toContain('lock');
  });

  it('says what has to go with a damaged store of authentication', async () => {
    damage('auth.sqlite3', 100);
    expect((await kithdb('check', '--data-dir', dataDir)).out).toMatch(
      /kithdb admin repair.*auth\.sqlite3-journal and auth\.sqlite3-wal/,
    );
  });

  it('names a store of authentication that is empty or missing', async () => {
    const path = join(dataDir, 'auth.sqlite3');
    writeFileSync(path, '');
    const { code, report: empty } = await report();
    expect(code).toBe(1);
    expect(empty.findings).toEqual([
      expect.objectContaining({
        severity: 'damage',
        file: 'auth.sqlite3',
        what: 'it is empty',
        advice: expect.stringMatching(/kithdb admin repair/),
      }),
    ]);
    expect(statSync(path).size).toBe(0);
    rmSync(path);
    expect((await report()).report.findings).toEqual([
      expect.objectContaining({
        file: 'auth.sqlite3',
        what: 'there is no such file',
        effect: expect.stringMatching(/a server is closed/),
      }),
    ]);
    rmSync(join(dataDir, 'auth.digest'));
    expect((await report()).report.findings).toEqual([
      expect.objectContaining({
        severity: 'damage',
        file: 'auth.sqlite3',
        what: expect.stringMatching(
          /it is missing or empty, and the catalog of the engine has generation \d+/,
        ),
        effect: expect.stringMatching(/a server is closed/),
        advice: expect.stringMatching(/kithdb admin repair/),
      }),
    ]);
    expect(await report('--token-store', 'memory')).toMatchObject({ code: 0, report: { findings: [] } });
    expect(readdirSync(dataDir)).not.toContain('auth.sqlite3');
  });

  it('does not call a store of authentication damaged where there is no room for its copy', async () => {
    const nowhere = join(folder, 'no-tmp');
    const { code, out, err } = await kithdbWith({ TMPDIR: nowhere }, 'check', '--data-dir', dataDir);
    expect({ code, err }).toEqual({ code: 2, err: '' });
    expect(out).toMatch(
      /^unknown: auth\.sqlite3: auth\.sqlite3 is read as a copy, which cannot be made \(.*no-tmp.*: there is no such file or folder \(ENOENT\)\): let TMPDIR name a folder with room for it\. Effect: .* is not known.*\n/,
    );
    // What was checked is reported nevertheless.
    expect(out).toMatch(/\nNOT ALL CHECKED: \d+ collections?, .*\n$/);
    const manifest = files(dataDir).find((path) => /0*1\/MANIFEST$/.test(path))!;
    damage(manifest, 40);
    const found = await kithdbWith({ TMPDIR: nowhere }, 'check', '--data-dir', dataDir);
    expect(found).toMatchObject({ code: 1, out: expect.stringMatching(/damage: .*MANIFEST/) });
  });

  it('takes the space that a server keeps back for what it is', async () => {
    writeFileSync(join(dataDir, 'reserve'), 'anything');
    writeFileSync(join(dataDir, 'reserve.start'), '');
    expect(await report()).toMatchObject({ code: 0, report: { clean: true, findings: [] } });
  });

  it('counts what a crash leaves behind as sound', async () => {
    const collection = join(dataDir, 'collections', '0000000000000001');
    writeFileSync(join(collection, '000000ff.data'), 'half a checkpoint');
    const log = readdirSync(join(dataDir, 'log'))
      .filter((file) => file.endsWith('.log'))
      .at(-1)!;
    writeFileSync(join(dataDir, 'log', log), 'half a record', { flag: 'a' });
    const { code, report: found } = await report();
    expect(code).toBe(0);
    expect(found.findings.map(({ severity, file }) => ({ severity, file }))).toEqual([
      { severity: 'note', file: 'log' },
      { severity: 'note', file: 'collections/0000000000000001/000000ff.data' },
    ]);
  });

  it('cannot check what a server holds, what is no data directory, or a collection that there is not', async () => {
    const server = await Served.on(dataDir);
    const held = await kithdb('check', '--data-dir', dataDir);
    await server.stop();
    expect(held).toMatchObject({
      code: 2,
      err: expect.stringMatching(/in use by process \d+: stop it first/),
    });
    expect(await kithdb('check', '--data-dir', join(folder, 'nowhere'))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/there is no such folder: is --data-dir right/),
    });
    expect(readdirSync(folder)).not.toContain('nowhere');
    expect(await kithdb('check', '--data-dir', folder)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/no server has run on it yet/),
    });
    const backup = join(folder, 'backup');
    await kithdb('backup', '--data-dir', dataDir, '--to', backup);
    expect(await kithdb('check', '--data-dir', backup)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/it is a backup and no data directory: `kithdb restore` makes one of it/),
    });
    expect(await kithdb('check', '--data-dir', dataDir, '--collection', 'x')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/there is no collection x/),
    });
    expect(await kithdb('check', '--to', 'x')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/kithdb check has no flag --to/),
    });
  });
});
