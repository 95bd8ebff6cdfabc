import { reached, requirePosition } from '../../src/cluster/replica/reached';

const { signal } = new AbortController();

describe('reached', () => {
  it('resolves when the replica is there, also one that was made anew meanwhile', async () => {
    let replica = { position: 1 };
    const done = reached(() => replica, 3, signal);
    replica = { position: 2 };
    setTimeout(() => {
      replica.position = 4;
    }, 20);
    expect(await done).toBe(4);
  });

  it('resolves with nothing once there is no replica that can answer', async () => {
    let replica: { position: number } | undefined = { position: 1 };
    const done = reached(() => replica, 3, signal);
    replica = undefined;
    expect(await done).toBeUndefined();
    expect(await requirePosition(() => undefined, 3)).toBeUndefined();
  });

  it('rejects with the reason of its signal', async () => {
    const gone = new AbortController();
    const done = reached(() => ({ position: 1 }), 3, gone.signal);
    gone.abort(new Error('the client has left'));
    await expect(done).rejects.toThrow('the client has left');
  });
});
