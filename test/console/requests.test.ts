import { parseExact } from '../../src/console/app/service/exact-json';
import { until } from '../until';
import { withExactNumbers } from './exact-numbers';
import { answering, moduleOf, SERVER } from './page';

interface Credential {
  readonly kind: 'admin' | 'token';
  readonly token: string;
}

const session = moduleOf('service/session') as {
  readonly authEnabled: { value: boolean | undefined };
  readonly credential: { value: Credential | undefined };
  readonly ending: { value: string | undefined };
  readonly needsSignIn: { readonly value: boolean };
  readonly signIn: (given: Credential) => void;
  readonly endSession: (why: string) => void;
};
const { send } = moduleOf('service/request') as {
  readonly send: (method: string, path: string) => Promise<unknown>;
};
const { history } = moduleOf('requests/history') as {
  readonly history: { readonly value: readonly { readonly path: string }[] };
};
const { sendDraft, sentPath } = moduleOf('requests/sending') as {
  readonly sendDraft: (draft: object, body?: string) => Promise<{ readonly status: number }>;
  readonly sentPath: (typed: string) => string;
};
const { rotate } = moduleOf('tokens/rotation') as {
  readonly rotate: (id: number) => Promise<{ readonly token: string }>;
};
const { writeRequest } = moduleOf('parts/request-text') as {
  readonly writeRequest: (request: object, language: 'json' | 'curl' | 'js' | 'python') => string;
};
const { sendSnapshot } = moduleOf('snapshots/files') as {
  readonly sendSnapshot: (
    collection: string,
    file: File,
    signal: AbortSignal,
    sent: (bytes: number) => void,
  ) => Promise<void>;
};

const { authEnabled, credential, ending, needsSignIn } = session;
const ADMIN: Credential = { kind: 'admin', token: 'jwt' };

beforeEach(() => {
  // The end of a session clears the history.
  session.signIn(ADMIN);
  session.endSession('signed-out');
  authEnabled.value = true;
});

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a refusal of the credential in the console', () => {
  it('ends the session, and does not turn authentication on', async () => {
    authEnabled.value = false;
    session.signIn(ADMIN);
    const asked = answering(({ path }) => [path === '/settings' ? 401 : 200]);
    await expect(send('GET', '/settings')).rejects.toThrow('Status 401');
    await until(() => asked.length === 2);
    expect(asked[1]).toMatchObject({ path: '/collections', token: null });
    await new Promise(setImmediate);
    expect([credential.value, ending.value]).toEqual([undefined, 'expired']);
    expect([authEnabled.value, needsSignIn.value]).toEqual([false, false]);
  });

  it('asks for a sign-in once the server says that authentication is on', async () => {
    authEnabled.value = false;
    answering(() => [401]);
    await expect(send('GET', '/collections/shop')).rejects.toThrow('Status 401');
    await until(() => needsSignIn.value);
  });

  it('leaves what was known where the server does not say it', async () => {
    session.signIn({ kind: 'token', token: 'old' });
    const asked = answering(({ token }) => [token === null ? 503 : 401]);
    await expect(send('GET', '/collections/shop')).rejects.toThrow('Status 401');
    await until(() => asked.length === 2);
    await new Promise(setImmediate);
    expect([authEnabled.value, needsSignIn.value, ending.value]).toEqual([true, true, 'refused']);
  });
});

describe('the page of requests in the console', () => {
  const draft = (path: string, method = 'DELETE') => ({ method, path, body: '' });

  it('sends the path that was typed, of which a browser would leave out or change a part', async () => {
    const asked = answering(() => [200]);
    for (const [typed, sent] of [
      ['/collections/a#b', '/collections/a%23b'],
      ['/collections/a\\b ', '/collections/a%5Cb%20'],
      ['/collections/a%23b?wait=true', '/collections/a%23b?wait=true'],
    ] as const) {
      await sendDraft(draft(typed));
      expect([asked.at(-1)?.path, sentPath(typed)]).toEqual([sent, sent]);
      expect(writeRequest(draft(sentPath(typed)), 'curl')).toContain(`'${SERVER}${sent}'`);
      // What was typed comes back.
      expect(history.value[0]?.path).toBe(typed);
    }
  });

  it('takes the 401 of a login for a wrong password, and any other for the end of the session', async () => {
    session.signIn(ADMIN);
    answering(() => [401]);
    for (const path of ['/auth/admin/login', '/auth/admin/login/', '/auth/admin/login?x=1']) {
      expect((await sendDraft(draft(path, 'POST'))).status).toBe(401);
    }
    expect([credential.value, history.value.length]).toEqual([ADMIN, 3]);
    await sendDraft(draft('/auth/admin/login-again', 'POST'));
    expect([credential.value, history.value.length]).toEqual([undefined, 0]);
  });

  it('does not keep a request whose session ended before its answer, nor end the next session by it', async () => {
    session.signIn(ADMIN);
    let answer = (): void => undefined;
    answering(async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return [401];
    });
    const sending = sendDraft(draft('/collections/secret'));
    session.endSession('signed-out');
    session.signIn({ kind: 'token', token: 'of somebody else' });
    answer();
    await sending;
    expect([history.value, credential.value?.token]).toEqual([[], 'of somebody else']);
  });
});

describe('a rotation of a token in the console', () => {
  const issued = '{"id":7,"name":"own","token":"new"}';

  it.each([401, 403])('keeps who has this token signed in, whose old value is a %i', async (refusal) => {
    session.signIn({ kind: 'token', token: 'old' });
    const asked = answering(({ method }) => (method === 'POST' ? [200, issued] : [refusal]));
    expect((await rotate(7)).token).toBe('new');
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /auth/access_token/7/rotate',
      'GET /auth/access_tokens',
    ]);
    expect(credential.value).toEqual({ kind: 'token', token: 'new' });
  });

  it('changes nothing for who has another token, or is the admin', async () => {
    const asked = answering(({ method }) => (method === 'POST' ? [200, issued] : [200, '[]']));
    for (const held of [{ kind: 'token', token: 'other' } as const, ADMIN]) {
      session.signIn(held);
      await rotate(7);
      expect(credential.value).toBe(held);
    }
    expect(asked).toHaveLength(3);
  });

  it('gives the new value whatever happens afterwards', async () => {
    session.signIn({ kind: 'token', token: 'old' });
    answering(({ method }) => {
      if (method === 'POST') return [200, issued];
      throw new TypeError('fetch failed');
    });
    expect((await rotate(7)).token).toBe('new');
    expect(credential.value?.token).toBe('old');
  });
});

describe('a request that is copied from the console', () => {
  withExactNumbers();

  /** What a program sends that was copied as JavaScript. */
  const sentBy = async (body: unknown): Promise<string | undefined> => {
    authEnabled.value = false;
    const asked = answering(() => [200]);
    jest.spyOn(console, 'log').mockReturnValue();
    const text = writeRequest({ method: 'POST', path: '/collections/shop/points', body }, 'js');
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- it is what a user does with it
    await (new Function(`return (async () => {${text}})()`) as () => Promise<void>)();
    return asked[0]?.body;
  };

  it('acts on the same point in JavaScript', async () => {
    for (const json of [
      '{"points":[18446744073709551615],"note":"it\'s a \\"\\\\n\\" ${x}"}',
      '{"payload":{"one":1.0}}',
      '{"payload":{"__proto__":{"a":1}}}',
      '{"points":[7],"note":"it\'s a \\"\\\\n\\" ${x}"}',
    ]) {
      expect(await sentBy(parseExact(json))).toBe(json);
    }
  });

  it('is an object in JavaScript where that is the same', () => {
    const text = writeRequest({ method: 'POST', path: '/a', body: { points: [7] } }, 'js');
    expect(text).toContain('body: JSON.stringify({\n    "points": [7]\n  })');
  });
});

describe('a snapshot that is sent from the console', () => {
  /** A request as browsers have it, as far as it is used. */
  class FakeRequest {
    static latest: FakeRequest;
    readonly upload: { onload?: () => void } = {};
    onabort?: () => void;
    readonly open = jest.fn();
    readonly send = jest.fn();

    constructor() {
      FakeRequest.latest = this;
    }

    abort(): void {
      this.onabort?.();
    }
  }

  it('says when it is stopped whether the collection may still be replaced', async () => {
    Object.assign(globalThis, { XMLHttpRequest: FakeRequest });
    const stopped = (isSent: boolean): Promise<void> => {
      const stopper = new AbortController();
      const sending = sendSnapshot('shop', new File(['x'], 'a'), stopper.signal, () => undefined);
      if (isSent) FakeRequest.latest.upload.onload?.();
      stopper.abort();
      return sending;
    };
    await expect(stopped(false)).rejects.toThrow('Stopped. Nothing has changed.');
    await expect(stopped(true)).rejects.toThrow(
      'Stopped waiting. The server may still replace the collection.',
    );
  });
});
