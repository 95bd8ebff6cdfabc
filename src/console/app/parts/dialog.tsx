import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog: the browser keeps the focus in it, closes it on Escape and gives the focus back. */
export function Dialog({ title, close, children }: DialogProps) {
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close}>
      <header>
        <h2 id={id}>{title}</h2>
        <button
          type="button"
          class="quiet"
          aria-label="Close"
          onClick={() => {
            element.current?.close();
          }}
        >
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}
