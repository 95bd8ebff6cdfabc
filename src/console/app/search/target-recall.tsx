import { SliderField } from '../parts/form';
import { percent, placeOf, targetAt, TARGET_PLACES } from '../service/recall';

interface Props {
  /** A share as a text; empty for the default. */
  readonly value: string;
  /** What the collection has. */
  readonly ofCollection?: unknown;
  readonly disabled?: boolean;
  readonly change: (value: string) => void;
  readonly label?: string;
  /** What the first place is called: without a target of the collection, and with one. */
  readonly none?: string;
  readonly given?: string;
  readonly hint?: string;
}

/** How many of the true nearest a search is to find (C14). */
export function TargetRecall({
  value,
  ofCollection,
  disabled = false,
  change,
  label = 'Target recall',
  none = 'Server default',
  given = 'Default',
  hint = 'How many of the true nearest are to be found. The server chooses the width of the walk for it, from what it has measured.',
}: Props) {
  const first = typeof ofCollection === 'number' ? `${given}: ${percent(ofCollection)}` : none;
  return (
    <SliderField
      label={label}
      hint={hint}
      place={placeOf(value)}
      texts={TARGET_PLACES.map((target) => (target === undefined ? first : percent(target)))}
      disabled={disabled}
      change={(place) => {
        change(targetAt(place));
      }}
    />
  );
}
