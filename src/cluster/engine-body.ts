import type { Engine } from '../engine/types';

/** The body of a request to an engine, with these bytes. */
export function bodyOf(engine: Pick<Engine, 'receive'>, bytes: Buffer): ReturnType<Engine['receive']> {
  const body = engine.receive();
  // The engine takes the memory of a whole ArrayBuffer: a view of a part of one is copied.
  body.append(Buffer.from(bytes), bytes.length);
  return body;
}
