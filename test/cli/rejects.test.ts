import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, type Outcome } from './run-command';

/** `--rejects` of `kithdb import` names a file that is written, so it must be none that is read (C11.4). */
describe('--rejects that names a file of the import', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-rejects-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const imports = (file: string, rejects: string, ...flags: string[]): Promise<Outcome> =>
    runCommand([
      ...['import', '--data-dir', join(folder, 'data'), '--collection', 'points', '--distance', 'Dot'],
      ...['--file', file, '--rejects', rejects, ...flags],
    ]);

  it.each([[[]], [['--dry-run']], [['--resume']]])(
    'is refused before anything is touched: %j',
    async (flags) => {
      const file = join(folder, 'points.jsonl');
      const lines = '{"id":1,"vector":[1,2]}\n{"id":2,"vector":[1]}\n{"id":';
      writeFileSync(file, lines);
      const [symbolic, hard] = [join(folder, 'symbolic'), join(folder, 'hard')];
      symlinkSync(file, symbolic);
      linkSync(file, hard);
      for (const rejects of [file, symbolic, hard]) {
        const { code, err } = await imports(file, rejects, ...flags);
        expect([code, err]).toEqual([
          2,
          expect.stringContaining(`--rejects ${rejects} is the same file as ${file}, which is imported`),
        ]);
        expect(readFileSync(file, 'utf8')).toBe(lines);
      }
      expect((await imports(symbolic, file, ...flags)).code).toBe(2);
      expect(readFileSync(file, 'utf8')).toBe(lines);
      expect(readdirSync(folder).sort()).toEqual(['hard', 'points.jsonl', 'symbolic']);
    },
  );

  it('is refused where the file is that of --payload', async () => {
    const vector = Buffer.alloc(8);
    vector.writeInt32LE(1);
    const [file, payloads] = [join(folder, 'vectors.fvecs'), join(folder, 'payloads.jsonl')];
    writeFileSync(file, vector);
    writeFileSync(payloads, '{"n":1}\n');
    for (const rejects of [file, payloads]) {
      const { code, err } = await imports(file, rejects, '--payload', payloads);
      expect([code, err]).toEqual([2, expect.stringContaining(`is the same file as ${rejects}`)]);
    }
    expect([readFileSync(file), readFileSync(payloads, 'utf8')]).toEqual([vector, '{"n":1}\n']);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('is another file where only its name is alike', async () => {
    const [file, rejects] = [join(folder, 'points.jsonl'), join(folder, 'points.rejects')];
    writeFileSync(file, '{"id":1,"vector":[1,2]}\n{"id":2,"vector":[1]}\n');
    expect((await imports(file, rejects)).code).toBe(3);
    expect(readFileSync(rejects, 'utf8')).toContain('line 2');
  });
});
