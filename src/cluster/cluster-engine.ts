import {
  EngineError,
  type Answer,
  type BackgroundPanics,
  type ClusterControl,
  type ClusterReport,
  type Engine,
  type EngineRequest,
  type EngineStatus,
  type HealthIssue,
  type IncomingBody,
  type ScrubReport,
} from '../engine/types';
import { clientError } from './coordinator/answers';
import { CollectedBody } from './coordinator/collected-body';
import type { Coordinator } from './coordinator/coordinator';
import type { PeerTls } from './peers/security';

/** Seconds that a request has which says nothing of time. */
const DEFAULT_SECONDS = 60;

/** One for all: every request ends with it, when its answer is written, and an error of its own costs a stack trace. */
const CANCELLED = new EngineError('cancelled');

/** Executes what clients and operators ask for. */
export type RequestExecutor = Pick<Coordinator, 'execute' | 'operator'>;

/** What stands between a server and the engine of its replicas: a node of a cluster, or one that is served alone. */
export interface ServingNode {
  /** Undefined before it can answer, and when it stops. */
  readonly coordinator: RequestExecutor | undefined;
  /** Why it answers nothing any more; undefined while it does. */
  readonly refusal: string | undefined;
  /** How many collections the cluster has. */
  readonly collections: number | undefined;
  report(): ClusterReport | undefined;
  healthIssues(): readonly HealthIssue[];
  /** Begins with an engine that is open; resolves when it can answer. */
  start(engine: Engine): Promise<void>;
  /** Does the work of a request, which counts as under way meanwhile; it is aborted where this node cannot go on with it. */
  counted<T>(over: AbortController, work: () => Promise<T>): Promise<T>;
  /** @throws Error that says why the certificate cannot be used */
  useCertificate?(tls: PeerTls): void;
  giveUpRequests(): void;
  stop(): Promise<void>;
}

/**
 * The engine of a node in a cluster, as its server uses it: what concerns data goes through the coordinator, which asks this
 * node's engine and others; the rest is about this node.
 */
export class ClusterEngine implements Engine {
  constructor(
    private readonly own: Engine,
    private readonly node: ServingNode,
  ) {}

  async open(): Promise<string | undefined> {
    const warning = await this.own.open();
    await this.node.start(this.own);
    return warning;
  }

  receive(): IncomingBody {
    return new CollectedBody();
  }

  async execute(request: EngineRequest): Promise<Answer> {
    const body = request.body instanceof CollectedBody ? request.body.take() : Buffer.alloc(0);
    const over = new AbortController();
    const at = performance.now() + 1000 * (request.timeoutSeconds ?? DEFAULT_SECONDS);
    const timer = setTimeout(() => {
      over.abort(new EngineError('timeout', { message: 'the deadline has passed' }));
    }, at - performance.now());
    request.whenAbandoned?.(() => {
      over.abort(CANCELLED);
    });
    try {
      const coordinator = this.#coordinator;
      return await this.node.counted(over, () =>
        coordinator.execute(request, body, { at, signal: over.signal }),
      );
    } catch (error) {
      throw clientError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  get #coordinator(): RequestExecutor {
    const { coordinator, refusal } = this.node;
    if (refusal !== undefined) throw new EngineError('unavailable', { message: refusal });
    if (coordinator === undefined) throw new EngineError('not_ready');
    return coordinator;
  }

  get cluster(): ClusterControl {
    return this.#coordinator.operator;
  }

  refresh(maxAgeMs?: number): Promise<void> {
    return this.own.refresh(maxAgeMs);
  }

  /** Of this node, but for the number of collections, which is that of the cluster. */
  status(): EngineStatus {
    const collections = this.node.collections ?? 0;
    return { ...this.own.status(), collections };
  }

  scrub(): ScrubReport {
    return this.own.scrub();
  }

  healthIssues(): readonly HealthIssue[] {
    return [...this.own.healthIssues(), ...this.node.healthIssues()];
  }

  clusterReport(): ClusterReport | undefined {
    return this.node.report();
  }

  /** New connections between nodes have this certificate. @throws Error that says why it cannot be used */
  useCertificate(tls: PeerTls): void {
    this.node.useCertificate?.(tls);
  }

  panics(): BackgroundPanics {
    return this.own.panics();
  }

  authGeneration(): number {
    return this.own.authGeneration();
  }

  noteAuthGeneration(generation: number): Promise<void> {
    return this.own.noteAuthGeneration(generation);
  }

  /** What a node has is a part of the cluster, and of no use without its place in the streams. */
  stage(): Promise<void> {
    const message =
      'this server is a node of a cluster, whose data are on its other nodes and in its checkpoint store';
    return Promise.reject(new EngineError('bad_request', { message }));
  }

  unstage(): Promise<void> {
    return this.own.unstage();
  }

  giveUpRequests(): void {
    this.node.giveUpRequests();
    this.own.giveUpRequests();
  }

  async close(timeMs?: number): Promise<void> {
    try {
      await this.node.stop();
    } finally {
      await this.own.close(timeMs);
    }
  }
}
