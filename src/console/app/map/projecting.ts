import workerUrl from './projection.worker?worker&url';
import type { Projection } from './principal';

interface TrustedTypes {
  createPolicy: (
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ) => { createScriptURL: (url: string) => string };
}

/** The content security policy lets this policy make the URL of a script, and no other. */
const policy = (window as unknown as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy(
  'kithdb-worker',
  {
    createScriptURL: (url) => {
      if (url !== workerUrl) throw new TypeError('Only the script of the map');
      return url;
    },
  },
);

/** Projects vectors of one length onto a plane. */
export function projectRows(rows: Float32Array, dimension: number, signal: AbortSignal): Promise<Projection> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, { type: 'module' });
    const end = (): void => {
      worker.terminate();
    };
    signal.addEventListener('abort', end, { once: true });
    worker.onmessage = ({ data }: MessageEvent<Projection>) => {
      end();
      resolve(data);
    };
    worker.onerror = () => {
      end();
      reject(new Error('The projection failed'));
    };
    worker.postMessage({ rows, dimension }, [rows.buffer]);
  });
}
