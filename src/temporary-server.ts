import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a server for tests may be given. */
export interface TemporaryServerOptions {
  /** A folder that stays when the server stops; a new one under the system's temporary folder when absent. */
  readonly dataDir?: string;
  /** Settings by the names of their environment variables (docs/configuration.md). The environment itself is not read. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A server for tests. */
export interface TemporaryServer {
  /** For `connect`. */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Stops the server, and removes its folder unless it was given. Every call gives the same promise. */
  stop(): Promise<void>;
}

/**
 * Starts a server in this process, on a free port of the loopback interface, and resolves when it is ready. It logs nothing
 * and leaves the signals of the process alone.
 * @throws an error that says why when it cannot start, for example for a setting that does not exist.
 */
export async function startServer({
  dataDir,
  settings = {},
}: TemporaryServerOptions = {}): Promise<TemporaryServer> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'kithdb-')));
  const removeOwn = async (): Promise<void> => {
    if (dataDir === undefined) {
      await rm(folder, { recursive: true, force: true });
    }
  };
  try {
    const running = await start(folder, {
      ...(dataDir === undefined && { KITHDB_TOKEN_STORE: 'memory' }),
      ...settings,
    });
    let stopping: Promise<void> | undefined;
    const { url, port } = running;
    return { url, port, dataDir: folder, stop: () => (stopping ??= running.stop().then(removeOwn)) };
  } catch (error) {
    await removeOwn();
    throw error;
  }
}

async function start(dataDir: string, env: Record<string, string>) {
  // A client alone loads nothing of a server.
  const [{ loadConfig, readFlags }, server, { default: pino }] = await Promise.all([
    import('./config/index.js'),
    import('./server.js'),
    import('pino'),
  ]);
  const commandLine = readFlags(['--host', '127.0.0.1', '--port', '0', '--data-dir', dataDir]);
  const running = await server.startServer(loadConfig({ commandLine, env, terminal: false }), {
    log: { log: pino({ level: 'silent' }), flush: () => undefined },
    print: () => undefined,
    ownsProcess: false,
  });
  try {
    await running.ready;
  } catch (error) {
    await running.stop();
    throw error;
  }
  return running;
}
