import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** What is being read, as a component sees it. */
export interface Loading<T> {
  readonly value: T | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * Reads something when the component appears and whenever one of `keys` changes. The value before stays until the next one
 * is there. An answer that comes late is dropped.
 */
export function useLoading<T>(
  read: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
): Loading<T> {
  const [state, setState] = useState<Omit<Loading<T>, 'reload'>>(START);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    read(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ value, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState({ value: undefined, error: asError(error), isLoading: false });
      },
    );
    return () => {
      abort.abort();
    };
  }, [...keys, round]);
  const reload = useCallback(() => {
    setRound((before) => before + 1);
  }, []);
  return { ...state, reload };
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
