import { SnapshotService } from '../../src/snapshots/service';
import type { SnapshotStore } from '../../src/snapshots/store';
import type { Engine } from '../../src/engine/types';

const { signal } = new AbortController();

describe('C12 a recovery from a snapshot', () => {
  it('fails by itself where the file cannot be opened, which has just been there', async () => {
    const path = '/nowhere/full.snapshot';
    const found = { name: 'full.snapshot', creation_time: '', size: 1, checksum: null, path };
    const store = {
      limits: {},
      find: () => Promise.resolve(found),
      // As long as its other work takes, an error of the file has nobody to hear it.
      withWorkFolder: () => new Promise((resolve) => setTimeout(resolve, 50)),
    } as unknown as SnapshotStore;
    const recovered = new SnapshotService(store).recoverAll({} as Engine, found.name, { signal });
    await expect(recovered).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
