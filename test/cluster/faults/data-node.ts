/** A node of the cluster as a process, behind links to the log servers and for the other nodes. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from './child';
import type { Clock } from './clock';
import type { Link } from './link';
import type { NodeSettings } from './node-server';

const ROOT = join(__dirname, '..', '..', '..');
const PROGRAM = join(ROOT, '.build', 'cluster-faults', 'node.js');
const HURRIED_ENGINE = join(ROOT, 'test', 'crash', 'hurried-engine.cjs');

/** Makes the program of nodes of the sources as they are. */
export function buildNodeProgram(): void {
  execFileSync(process.execPath, [join(__dirname, 'build-node.mjs'), PROGRAM], { stdio: 'pipe' });
}

/** Whether there is an engine that works in the background with little data, and ends at crash points. */
export const hasTestingEngine =
  existsSync(join(ROOT, 'native', 'testing')) && readdirSync(join(ROOT, 'native', 'testing')).length > 0;

/** A replica, as its node says. */
export interface ReplicaSaid {
  readonly name: string;
  readonly position: number;
  readonly points: number;
  readonly digest: string;
}

/** Links of a node. */
export interface NodeLinks {
  /** To each log server. */
  readonly logs: readonly Link[];
  /** Over which the other nodes reach it. */
  readonly peers: Link;
}

export class DataNode {
  readonly child: Child;

  constructor(
    readonly name: string,
    readonly settings: NodeSettings,
    readonly links: NodeLinks,
    output: string,
    /** Absent where it cannot be shifted. */
    readonly clock: Clock | undefined,
  ) {
    this.child = new Child(output);
  }

  /** @param crashPoint NAME:COUNT, of `crates/engine/src/storage/crash_points.rs` */
  start(crashPoint?: string): void {
    const { PATH } = process.env;
    this.child.start({
      command: process.execPath,
      args: [...(hasTestingEngine ? ['--require', HURRIED_ENGINE] : []), PROGRAM],
      env: {
        ...(PATH !== undefined && { PATH }),
        ...(crashPoint !== undefined && { CRASH_POINT: crashPoint }),
        ...this.clock?.env,
        KITHDB_FAULTS_NODE: JSON.stringify(this.settings),
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.settings.port}`;
  }

  /** Its replicas; undefined while it does not answer. */
  async replicas(): Promise<readonly ReplicaSaid[] | undefined> {
    try {
      const response = await fetch(`${this.url}/replicas`, { signal: AbortSignal.timeout(10_000) });
      return response.ok ? ((await response.json()) as ReplicaSaid[]) : undefined;
    } catch {
      return undefined;
    }
  }
}
