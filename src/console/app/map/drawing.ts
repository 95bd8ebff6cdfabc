import { useEffect, useRef, useState } from 'preact/hooks';
import { asError } from '../service/loading';
import { idText, type PointId } from '../service/types';
import { project, type Method, type Projection, type Wanted } from './projection';

/** What the server does at the moment. */
export type Stage = 'idle' | 'pca' | 'umap';

/**
 * Projections, one at a time: principal components first, which are there at once, and then the layout that takes longer.
 * Stopping one, or leaving the page, ends it in the server too.
 */
export function useDrawing() {
  const [stage, setStage] = useState<Stage>('idle');
  const [projection, setProjection] = useState<Projection>();
  const [error, setError] = useState<Error>();
  const [number, setNumber] = useState(0);
  const abort = useRef<AbortController | undefined>(undefined);
  const seconds = useSeconds(stage);
  const run = async (wanted: Wanted, method: Method, { signal }: AbortController): Promise<void> => {
    setStage('pca');
    const plane = await project(wanted, 'pca', signal);
    setProjection(plane);
    setNumber((before) => before + 1);
    if (method === 'pca') return;
    setStage('umap');
    const layout = await project(wanted, 'umap', signal);
    // One list for both, so that what is shown beside the points is not read again.
    const isKept = isSame(layout.ids, plane.ids);
    setProjection(isKept ? { ...layout, ids: plane.ids } : layout);
    // Marks are places in the list of points: another list starts without any.
    if (!isKept) setNumber((before) => before + 1);
  };
  const start = (wanted: Wanted, method: Method): void => {
    const stopper = new AbortController();
    abort.current = stopper;
    setError(undefined);
    run(wanted, method, stopper)
      .catch((failure: unknown) => {
        // What is drawn by then stays.
        if (!stopper.signal.aborted) setError(asError(failure));
      })
      .finally(() => {
        setStage('idle');
      });
  };
  const stop = (): void => {
    abort.current?.abort();
  };
  useEffect(() => stop, []);
  return { stage, projection, error, number, seconds, start, stop };
}

/** Whether the points are the same: others may have been written meanwhile. */
function isSame(a: readonly PointId[], b: readonly PointId[]): boolean {
  return a.length === b.length && a.every((id, at) => idText(id) === idText(b[at] ?? ''));
}

/** Seconds since the stage has begun. */
function useSeconds(stage: Stage): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    setSeconds(0);
    if (stage === 'idle') return undefined;
    const timer = setInterval(() => {
      setSeconds((before) => before + 1);
    }, 1000);
    return () => {
      clearInterval(timer);
    };
  }, [stage]);
  return seconds;
}
