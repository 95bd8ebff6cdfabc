import type { ComponentChildren } from 'preact';
import { adviceFor, RequestError } from '../service/request';

interface FailureProps {
  readonly error: Error | undefined;
  readonly retry?: () => void;
  /** What can be done about a refused credential, where it is another one than signing in again. */
  readonly refused?: string;
}

/** A failure in the server's words, and what can be done about it. */
export function Failure({ error, retry, refused }: FailureProps) {
  if (error === undefined) return null;
  const isRefused = error instanceof RequestError && error.status === 401;
  const general = error instanceof RequestError ? adviceFor(error) : undefined;
  const advice = isRefused ? (refused ?? general) : general;
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>{error.message}</strong>
      </p>
      {advice !== undefined && <p>{advice}</p>}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Notice({ kind, children }: { kind: 'plain' | 'warn' | 'good'; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role="status">
      {children}
    </div>
  );
}

/** What is shown where there is nothing yet: what it would be, and the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Keeps its place while something is read. */
export function Waiting({ what }: { what: string }) {
  return (
    <p class="waiting" role="status">
      Reading {what} …
    </p>
  );
}
