import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Gives the tests of a file the JSON that browsers have, and Node 20 only on request: it tells the text of a number. */
export function withExactNumbers(): void {
  const isOnRequest = !('rawJSON' in JSON);
  beforeAll(() => {
    if (!isOnRequest) return;
    setFlagsFromString('--harmony-json-parse-with-source');
    const exact = runInNewContext('JSON') as Readonly<Record<string, unknown>>;
    Object.assign(JSON, { parse: exact['parse'], stringify: exact['stringify'], rawJSON: exact['rawJSON'] });
  });

  afterAll(() => {
    if (isOnRequest) setFlagsFromString('--no-harmony-json-parse-with-source');
  });
}
