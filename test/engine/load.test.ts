import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadBinding } from '../../src/engine/load';

describe('an engine that cannot be loaded', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-native-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('says which platforms are there and how to build it for this one', () => {
    writeFileSync(join(folder, 'kithdb.plan9-mips-gnu.node'), '');
    writeFileSync(join(folder, 'kithdb.aix-ppc64.node'), '');
    const load = () => loadBinding(folder);
    expect(load).toThrow(`no native engine for ${process.platform}-${process.arch} here`);
    expect(load).toThrow('holds one for: aix-ppc64, plan9-mips-gnu');
    expect(load).toThrow(/git clone https:\/\/github\.com\/\S+ .*npm run build/s);
    expect(load).not.toThrow(/optional|@kithdb\//);
  });

  it('says so when there is none at all', () => {
    expect(() => loadBinding(join(folder, 'absent'))).toThrow('holds one for: no platform');
  });

  it('says why when the one for this platform is broken', () => {
    const file = `kithdb.${process.platform}-${process.arch}-x.node`;
    writeFileSync(join(folder, file), 'not an addon');
    expect(() => loadBinding(folder)).toThrow(new RegExp(`${file}: .+`));
  });
});
