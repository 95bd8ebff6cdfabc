import { localMemory } from '../../src/http/admission-memory';
import { LARGE_ANSWER_BYTES, UnreadAnswers } from '../../src/http/unread-answers';
import { sleep, until } from '../until';

const KIB = 1024;
const CLIENT = { network: 'a', credential: undefined };

describe('unread answers of one event loop', () => {
  const answers = (): UnreadAnswers =>
    new UnreadAnswers({ bytes: 1024 * KIB, stalledMs: 20, watchIntervalMs: 5 }, localMemory());

  it('lose the large one whose client reads nothing, when small ones bring them above the half', async () => {
    const unread = answers();
    const cut = jest.fn();
    unread.hold(CLIENT, 400 * KIB, cut);
    await sleep(60);
    expect(cut).not.toHaveBeenCalled();
    const small = unread.hold(CLIENT, 200 * KIB, jest.fn());
    await until(() => cut.mock.calls.length > 0);
    expect(unread.bytes).toBe(200 * KIB);
    small.release();
  });

  it('lose the next large one too, after a time without any', async () => {
    const unread = answers();
    for (let round = 0; round < 2; round += 1) {
      const small = [1, 2, 3].map(() => unread.hold(CLIENT, LARGE_ANSWER_BYTES, jest.fn()));
      await sleep(20);
      const cut = jest.fn();
      unread.hold(CLIENT, 400 * KIB, cut);
      await until(() => cut.mock.calls.length > 0);
      small.forEach((answer) => {
        answer.release();
      });
      await sleep(20);
    }
    expect(unread.bytes).toBe(0);
  });
});
