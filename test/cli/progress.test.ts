import { PassThrough } from 'node:stream';
import { Progress } from '../../src/cli/progress';

/** A terminal, and what was written to it. */
function terminal(isTTY: boolean) {
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const written = (): string => ((stderr.read() as Buffer | null) ?? '').toString();
  return { console: { stderr } as never, written };
}

describe('the line of progress', () => {
  let nowMs: number;
  beforeEach(() => {
    nowMs = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('has the points, their rate, the part that is read and the time that is left', () => {
    const { console, written } = terminal(true);
    const progress = new Progress(console, 4000, 'notes: ');
    progress.show(0, 0);
    expect(written()).toBe('\r\x1b[Knotes: 0 points, 0/s');
    nowMs += 2000;
    progress.show(500, 1000);
    expect(written()).toBe('\r\x1b[Knotes: 500 points, 250/s, 25 %, 6 s left');
    progress.end();
    expect(written()).toBe('\r\x1b[K');
  });

  it('counts what was read before it began for the part, and not for the time that is left', () => {
    const { console, written } = terminal(true);
    const progress = new Progress(console, 4000);
    progress.show(0, 2000);
    nowMs += 1000;
    written();
    progress.show(100, 3000);
    expect(written()).toBe('\r\x1b[K100 points, 100/s, 75 %, 1 s left');
  });

  it('says neither where the size of the whole is not known', () => {
    const { console, written } = terminal(true);
    const progress = new Progress(console, 0);
    progress.show(0);
    nowMs += 1000;
    written();
    progress.show(50, 10);
    expect(written()).toBe('\r\x1b[K50 points, 50/s');
  });

  it('is written twice a second at most', () => {
    const { console, written } = terminal(true);
    const progress = new Progress(console, 10);
    progress.show(1, 1);
    written();
    nowMs += 499;
    progress.show(2, 2);
    expect(written()).toBe('');
    nowMs += 1;
    progress.show(3, 3);
    expect(written()).toContain('3 points');
  });

  it('is not written where standard error is no terminal', () => {
    const { console, written } = terminal(false);
    const progress = new Progress(console, 10);
    progress.show(1, 1);
    progress.end();
    expect(written()).toBe('');
  });
});
