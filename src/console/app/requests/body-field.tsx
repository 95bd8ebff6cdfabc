import { useRef, useState } from 'preact/hooks';
import { AreaField } from '../parts/form';
import { caretPlace } from './caret';
import type { Description, Endpoint, FieldHint } from './description';

interface Props {
  readonly text: string;
  readonly problem: string | undefined;
  readonly endpoint: Endpoint | undefined;
  readonly description: Description | undefined;
  readonly change: (text: string) => void;
}

/** A body, with the fields that the place of the caret can have. Arrow down in the text goes to them with Control. */
export function BodyField({ text, problem, endpoint, description, change }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [caret, setCaret] = useState(0);
  const area = (): HTMLTextAreaElement | null => frame.current?.querySelector('textarea') ?? null;
  const at = caretPlace(text, caret);
  const hints =
    at === undefined || endpoint === undefined || description === undefined
      ? []
      : description.fieldsAt(endpoint, at.place).filter(({ name }) => name.startsWith(at.written));
  const note = (): void => {
    setCaret(area()?.selectionStart ?? 0);
  };
  const insert = (name: string): void => {
    const inserted = `${JSON.stringify(name)}: `;
    const from = at?.from ?? caret;
    change(`${text.slice(0, from)}${inserted}${text.slice(caret)}`);
    requestAnimationFrame(() => {
      const element = area();
      element?.focus();
      element?.setSelectionRange(from + inserted.length, from + inserted.length);
      note();
    });
  };
  return (
    <div
      ref={frame}
      class="stack"
      onKeyUp={note}
      onClick={note}
      onKeyDown={(event) => {
        if (event.key === ' ' && event.ctrlKey) {
          event.preventDefault();
          frame.current?.querySelector<HTMLButtonElement>('.hints button')?.focus();
        } else if (event.key === 'Escape') {
          area()?.focus();
        }
      }}
    >
      <AreaField
        label="Body"
        rows={10}
        value={text}
        problem={problem}
        change={(value) => {
          change(value);
          note();
        }}
      />
      {hints.length > 0 && <Hints hints={hints} insert={insert} />}
    </div>
  );
}

function Hints({ hints, insert }: { hints: readonly FieldHint[]; insert: (name: string) => void }) {
  return (
    <div class="hints" role="group" aria-label="Fields of this place">
      <p class="hint">Fields of this place (Ctrl+Space goes there, Escape back):</p>
      <ul>
        {hints.map(({ name, about }) => (
          <li key={name}>
            <button
              type="button"
              class="quiet mono"
              onClick={() => {
                insert(name);
              }}
            >
              {name}
            </button>
            <span class="hint">{about}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
