import type { Engine, EngineRequest, IncomingBody } from '../../src/engine/types';
import type { PeerHandlers, ReplicaRead } from '../../src/cluster/peers/handlers';
import { FakeBody } from '../http/fake-engine';

/** A node that answers with what it was asked. */
export class FakePeer implements PeerHandlers {
  readonly requests: (Omit<EngineRequest, 'body'> & { readonly text: string | undefined })[] = [];
  readonly bodies: FakeBody[] = [];
  readonly admitted: ReplicaRead[] = [];
  /** Reads that nobody waited for any more while they were executed. */
  abandoned = 0;
  refusal: Error | undefined;
  failure: Error | undefined;
  answer: Buffer | string = Buffer.from('answer');
  /** Executing waits for this. */
  gate: Promise<void> | undefined;
  position = 7;

  readonly engine: Pick<Engine, 'receive' | 'execute'> = {
    receive: (): IncomingBody => {
      const body = new FakeBody();
      this.bodies.push(body);
      return body;
    },
    execute: async ({ body, ...request }) => {
      this.requests.push({ ...request, text: (body as FakeBody | undefined)?.bytes.toString() });
      request.whenAbandoned?.(() => {
        this.abandoned += 1;
      });
      await this.gate;
      if (this.failure !== undefined) throw this.failure;
      return this.answer;
    },
  };

  admit(read: ReplicaRead): Promise<number> {
    this.admitted.push(read);
    return this.refusal === undefined ? Promise.resolve(this.position) : Promise.reject(this.refusal);
  }

  positions(): ReturnType<PeerHandlers['positions']> {
    return Promise.resolve([{ collection: 'c.0', position: this.position }]);
  }

  digest(question: Parameters<PeerHandlers['digest']>[0]): ReturnType<PeerHandlers['digest']> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    return Promise.resolve({ position: question.position, points: 3, digest: 'ab12' });
  }
}
