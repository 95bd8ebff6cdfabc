import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../service/loading';
import { Failure } from './notice';

interface Props {
  readonly label: string;
  /** What a screen reader says where the label alone does not name the thing. */
  readonly full?: string;
  /** The label of the second press, which acts. */
  readonly confirm: string;
  readonly keep?: string;
  readonly work: () => Promise<void>;
  readonly look?: string;
}

/**
 * A button whose first press asks, and whose second acts. The focus goes with it. A double click and a key that is held down
 * are one press.
 */
export function ConfirmButton({ label, full, confirm, keep = 'Cancel', work, look = 'quiet danger' }: Props) {
  const [isAsked, setAsked] = useState(false);
  const acting = useAction(async () => {
    await work();
    setAsked(false);
  });
  const ask = (value: boolean) => () => {
    acting.forget();
    setAsked(value);
  };
  const [asking, acts] = useFocus(isAsked);
  if (!isAsked) {
    return (
      <button ref={asking} type="button" class={look} aria-label={full} onClick={ask(true)}>
        {label}
      </button>
    );
  }
  return (
    <>
      <span class="confirm">
        <button
          ref={acts}
          type="button"
          class="danger"
          disabled={acting.isRunning}
          onKeyDown={(event) => {
            if (event.repeat && event.key !== 'Tab') event.preventDefault();
          }}
          onClick={(event) => {
            if (event.detail < 2) acting.run();
          }}
        >
          {confirm}
        </button>
        <button type="button" disabled={acting.isRunning} onClick={ask(false)}>
          {keep}
        </button>
      </span>
      <Failure error={acting.error} />
    </>
  );
}

/** The button that asks and the one that acts: whichever comes in the place of the other takes its focus, which is lost. */
function useFocus(isAsked: boolean) {
  const asking = useRef<HTMLButtonElement>(null);
  const acts = useRef<HTMLButtonElement>(null);
  const wasAsked = useRef(false);
  useEffect(() => {
    const isOther = isAsked !== wasAsked.current;
    wasAsked.current = isAsked;
    if (isOther && document.activeElement === document.body) (isAsked ? acts : asking).current?.focus();
  }, [isAsked]);
  return [asking, acts] as const;
}
