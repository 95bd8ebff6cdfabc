import type { Config } from '../config';

/** `kithdb serve`: returns when the server listens; from then on it ends the process itself, on a signal. */
export async function serve(config: Config): Promise<undefined> {
  const { startServer } = await import('../server.js');
  await startServer(config);
}
