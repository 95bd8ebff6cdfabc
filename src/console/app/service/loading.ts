import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { RequestError } from './request';

/** What is being read, as a component sees it. */
export interface Loading<T> {
  readonly value: T | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
  /** Reads it again unless it is being read: on a slow connection each read would end the one before, and none would finish. */
  readonly refresh: () => void;
}

/** A read that takes longer is given up by the next refresh. */
const LONGEST_MS = 30_000;

/**
 * Reads something when the component appears and whenever one of `keys` changes. The value before stays until the next one
 * is there, and where that fails to be read again. An answer that comes late is dropped.
 */
export function useLoading<T>(
  read: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
): Loading<T> {
  const [state, setState] = useState<Omit<Loading<T>, 'reload' | 'refresh'>>(START);
  const [round, setRound] = useState(0);
  /** When the read began that is under way. */
  const begun = useRef<number | undefined>(undefined);
  /** The keys that the value was read for. */
  const known = useRef<readonly unknown[] | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    begun.current = performance.now();
    setState((before) => ({ ...before, isLoading: true }));
    const end = (
      next: (before: T | undefined) => { value: T | undefined; error: Error | undefined },
    ): void => {
      if (abort.signal.aborted) return;
      begun.current = undefined;
      setState(({ value }) => ({ ...next(value), isLoading: false }));
    };
    read(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) known.current = keys;
        end(() => ({ value, error: undefined }));
      },
      (error: unknown) => {
        const isSame = keys.every((key, at) => Object.is(key, known.current?.[at]));
        end((before) => ({ value: isSame && mayPass(error) ? before : undefined, error: asError(error) }));
      },
    );
    return () => {
      abort.abort();
    };
  }, [...keys, round]);
  const reload = useCallback(() => {
    setRound((before) => before + 1);
  }, []);
  const refresh = useCallback(() => {
    if (begun.current === undefined || performance.now() - begun.current > LONGEST_MS) reload();
  }, []);
  return { ...state, reload, refresh };
}

/** Whether a read may succeed in a moment: what is gone, or is not to be seen, is not shown any longer. */
function mayPass(error: unknown): boolean {
  return !(error instanceof RequestError) || error.status >= 500 || [0, 408, 412, 429].includes(error.status);
}

const START = { value: undefined, error: undefined, isLoading: true };

/** Something that a user starts. */
export interface Action {
  readonly run: () => void;
  readonly isRunning: boolean;
  readonly error: Error | undefined;
  readonly forget: () => void;
}

/** Runs `work` once at a time, and keeps its failure for the component to show. */
export function useAction(work: () => Promise<void>): Action {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<Error>();
  const running = useRef(false);
  const run = (): void => {
    if (running.current) return;
    running.current = true;
    setRunning(true);
    setError(undefined);
    work()
      .catch((failure: unknown) => {
        setError(asError(failure));
      })
      .finally(() => {
        running.current = false;
        setRunning(false);
      });
  };
  return {
    run,
    isRunning,
    error,
    forget: () => {
      setError(undefined);
    },
  };
}

/** Calls back at intervals while the component is there and the page is seen. */
export function useInterval(callback: () => void, everyMs: number): void {
  const latest = useRef(callback);
  latest.current = callback;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, everyMs);
    return () => {
      clearInterval(timer);
    };
  }, [everyMs]);
}

export function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new Error(String(failure));
}
