import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { startServer, type RunningServer } from '../../src/server';

/**
 * A whole server in this process, on a free port: a process of its own would have to load Node and the server again.
 * What a signal, a kill or an exit code does is for {@link ../crash/server-child.ServerChild}.
 */
export class ServerHere {
  private constructor(
    private readonly running: RunningServer,
    private readonly lines: readonly string[],
  ) {}

  /** Starts one, and waits until it is ready, or closed. */
  static async start(
    dataDir: string,
    env: Readonly<Record<string, string | undefined>> = {},
  ): Promise<ServerHere> {
    const lines: string[] = [];
    const commandLine = readFlags(['--port', '0', '--data-dir', dataDir]);
    const running = await startServer(loadConfig({ commandLine, env, terminal: false }), {
      log: {
        log: pino({ level: 'warn' }, { write: (line) => lines.push(line) }),
        flush: () => undefined,
      },
      print: (line) => lines.push(line),
      ownsProcess: false,
    });
    await running.ready;
    return new ServerHere(running, lines);
  }

  get url(): string {
    return this.running.url;
  }

  /** Everything that it printed and logged so far. */
  get output(): string {
    return this.lines.join('\n');
  }

  stop(): Promise<void> {
    return this.running.stop();
  }
}
