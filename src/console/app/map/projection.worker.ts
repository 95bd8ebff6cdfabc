/** Projects vectors beside the page, which stays responsive. */
import { project } from './principal';

export interface Work {
  readonly rows: Float32Array;
  readonly dimension: number;
}

const worker = globalThis as unknown as {
  onmessage: (event: MessageEvent<Work>) => void;
  postMessage: (message: unknown, transfer: Transferable[]) => void;
};

worker.onmessage = ({ data: { rows, dimension } }) => {
  const projection = project(rows, dimension);
  worker.postMessage(projection, [projection.places.buffer]);
};
