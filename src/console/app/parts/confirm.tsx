import { useState } from 'preact/hooks';
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

/** A button whose first press asks, and whose second acts. */
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
  if (!isAsked) {
    return (
      <button type="button" class={look} aria-label={full} onClick={ask(true)}>
        {label}
      </button>
    );
  }
  return (
    <>
      <span class="confirm">
        <button type="button" class="danger" disabled={acting.isRunning} onClick={acting.run}>
          {confirm}
        </button>
        <button type="button" onClick={ask(false)}>
          {keep}
        </button>
      </span>
      <Failure error={acting.error} />
    </>
  );
}
