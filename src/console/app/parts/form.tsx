import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Choice } from './choice';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly hidden?: boolean;
}

/** A label, a control and a sentence about it. */
function Field({
  label,
  hint,
  id,
  children,
}: FieldProps & { readonly id: string; readonly children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export interface TextProps extends FieldProps {
  readonly value: string;
  readonly change: (value: string) => void;
  readonly type?: 'text' | 'password' | 'number';
  readonly placeholder?: string;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | 'any';
  readonly required?: boolean;
  readonly mono?: boolean;
  readonly choices?: readonly string[];
  readonly autofocus?: boolean;
  readonly autocomplete?: string;
  readonly disabled?: boolean;
}

export function TextField({
  label,
  hint,
  value,
  change,
  mono,
  choices,
  autofocus,
  type,
  ...input
}: TextProps) {
  const id = useId();
  // The types of Preact know a list for each kind of input apart.
  const kind = {
    type: type ?? 'text',
    ...(choices !== undefined && { list: `${id}-list` }),
  } as { type: 'text' };
  return (
    <Field label={label} hint={hint} id={id}>
      <input
        id={id}
        {...kind}
        spellcheck={false}
        autocomplete="off"
        {...input}
        class={mono === true ? 'mono' : ''}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        ref={(element) => {
          if (autofocus === true && element !== null && document.activeElement === document.body)
            element.focus();
        }}
        onInput={(event) => {
          change(event.currentTarget.value);
        }}
      />
      {choices !== undefined && (
        <datalist id={`${id}-list`}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </Field>
  );
}

interface SelectProps extends FieldProps {
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly change: (value: string) => void;
}

export function SelectField({ label, hint, value, choices, change }: SelectProps) {
  const id = useId();
  const about = hint ?? choices.find((choice) => choice.value === value)?.about;
  return (
    <Field label={label} hint={about} id={id}>
      <select
        id={id}
        value={value}
        aria-describedby={about === undefined ? undefined : `${id}-hint`}
        onChange={(event) => {
          change(event.currentTarget.value);
        }}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface AreaProps extends FieldProps {
  readonly value: string;
  readonly change: (value: string) => void;
  readonly rows?: number;
  readonly problem?: string | undefined;
  readonly placeholder?: string;
}

/** A text of several lines, set in a fixed pitch. */
export function AreaField({ label, hint, value, change, rows = 8, problem, placeholder }: AreaProps) {
  const id = useId();
  return (
    <Field label={label} hint={hint} id={id}>
      <textarea
        id={id}
        class="mono"
        rows={rows}
        spellcheck={false}
        autocomplete="off"
        placeholder={placeholder}
        value={value}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        onInput={(event) => {
          change(event.currentTarget.value);
        }}
      />
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </Field>
  );
}

interface SliderProps extends FieldProps {
  /** A place in `texts`. */
  readonly place: number;
  /** What each place means. */
  readonly texts: readonly string[];
  readonly change: (place: number) => void;
  readonly disabled?: boolean;
}

/** One of an ordered few. What it stands at is beside it, and is what a screen reader says. */
export function SliderField({ label, hint, place, texts, change, disabled = false }: SliderProps) {
  const id = useId();
  return (
    <Field label={label} hint={hint} id={id}>
      <div class="slider">
        <input
          id={id}
          type="range"
          min={0}
          max={texts.length - 1}
          step={1}
          value={place}
          disabled={disabled}
          aria-valuetext={texts[place]}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onInput={(event) => {
            change(Number(event.currentTarget.value));
          }}
        />
        <output for={id}>{texts[place]}</output>
      </div>
    </Field>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: boolean;
  readonly change: (value: boolean) => void;
}

export function SwitchField({ label, hint, value, change }: SwitchProps) {
  const id = useId();
  return (
    <div class="field switch">
      <input
        id={id}
        type="checkbox"
        checked={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => {
          change(event.currentTarget.checked);
        }}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** A form that Enter submits. */
export function Form({
  submit,
  children,
  label,
}: {
  submit: () => void;
  children: ComponentChildren;
  label?: string;
}) {
  return (
    <form
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {children}
    </form>
  );
}

/** One of a few, as buttons beside each other. */
export function Segments({ label, value, choices, change }: Omit<SelectProps, 'hint'>) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => {
            change(choice.value);
          }}
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}
