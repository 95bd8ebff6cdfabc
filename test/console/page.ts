/** Modules of the console that need a page: they are loaded without one, and their requests are answered by a test. */
import { join } from 'node:path';

export const SERVER = 'http://server.test/vectors';

const APP = join(__dirname, '..', '..', 'src', 'console', 'app');

Object.assign(globalThis, { window: { location: { href: `${SERVER}/console#/collections` } } });
// Preact is an ES module, which jest cannot load; signals themselves do without it.
jest.doMock('@preact/signals', () => jest.requireActual<object>('@preact/signals-core'));

/** A module by its path in the console. Its types are those of a browser, so that a test says itself what it uses of it. */
export function moduleOf(path: string): unknown {
  return jest.requireActual(join(APP, path));
}

export interface Asked {
  readonly method: string;
  /** Behind the address of the server. */
  readonly path: string;
  /** Null without a credential. */
  readonly token: string | null;
  readonly body: string | undefined;
}

/** An answer: its status, and its body, which is `{}` if there is none. */
type Answer = readonly [status: number, body?: string];

/** Answers the requests of the console from now on; gives the list to which each is added when it comes. */
export function answering(answer: (asked: Asked) => Answer | Promise<Answer>): readonly Asked[] {
  const all: Asked[] = [];
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const asked: Asked = {
      method: init?.method ?? 'GET',
      // As a browser reads an address.
      path: new URL(url).href.slice(SERVER.length).replace(/#.*$/, ''),
      token: new Headers(init?.headers).get('Authorization')?.replace('Bearer ', '') ?? null,
      body: init?.body as string | undefined,
    };
    all.push(asked);
    const [status, body = '{}'] = await answer(asked);
    return new Response(body, { status });
  });
  return all;
}
