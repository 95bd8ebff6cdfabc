import { useId } from 'preact/hooks';
import type { Choice } from '../parts/choice';
import { AreaField } from '../parts/form';
import { JsonView } from '../parts/json-view';
import { pretty } from '../service/exact-json';
import { plural } from '../service/format';
import {
  newCondition,
  operatorOf,
  OPERATORS,
  readFilter,
  type ConditionDraft,
  type FilterDraft,
} from './filter';

interface Props {
  readonly draft: FilterDraft;
  readonly change: (draft: FilterDraft) => void;
  /** Fields of payloads that are known. */
  readonly fields: readonly string[];
}

const CLAUSES = [
  { value: 'must', label: 'Must' },
  { value: 'should', label: 'Should, at least one' },
  { value: 'must_not', label: 'Must not' },
] as const;

/** Builds a filter line by line, shows the JSON that it makes, and lets it be written by hand. */
export function FilterBuilder({ draft, change, fields }: Props) {
  const { filter, problem } = readFilter(draft);
  const written = draft.mode === 'json' ? (filter === undefined ? 0 : 1) : draft.lines.length;
  return (
    <details class="filter">
      <summary>
        Filter{written > 0 && draft.mode === 'lines' ? ` (${plural(written, 'condition')})` : ''}
      </summary>
      {draft.mode === 'lines' ? (
        <Lines draft={draft} change={change} fields={fields} />
      ) : (
        <AreaField
          label="Filter as JSON"
          rows={8}
          value={draft.text}
          problem={problem}
          change={(text) => {
            change({ ...draft, text });
          }}
        />
      )}
      <div class="row">
        {draft.mode === 'lines' && (
          <button
            type="button"
            onClick={() => {
              change({ ...draft, lines: [...draft.lines, newCondition()] });
            }}
          >
            Add a condition
          </button>
        )}
        <button
          type="button"
          class="quiet"
          onClick={() => {
            change(
              draft.mode === 'lines'
                ? { ...draft, mode: 'json', text: filter === undefined ? '{}' : pretty(filter) }
                : { ...draft, mode: 'lines' },
            );
          }}
        >
          {draft.mode === 'lines' ? 'Write it as JSON' : 'Back to lines'}
        </button>
      </div>
      {draft.mode === 'lines' && filter !== undefined && (
        <JsonView value={filter} label="The filter as JSON" />
      )}
    </details>
  );
}

function Lines({ draft, change, fields }: Props) {
  const list = useId();
  const set = (lines: readonly ConditionDraft[]): void => {
    change({ ...draft, lines });
  };
  return (
    <>
      <datalist id={list}>
        {fields.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      {draft.lines.map((line, index) => (
        <Line
          key={line.key}
          line={line}
          position={index + 1}
          list={list}
          change={(over) => {
            set(draft.lines.map((of) => (of === line ? { ...of, ...over } : of)));
          }}
          remove={() => {
            set(draft.lines.filter((of) => of !== line));
          }}
        />
      ))}
    </>
  );
}

interface LineProps {
  readonly line: ConditionDraft;
  readonly position: number;
  readonly list: string;
  readonly change: (over: Partial<ConditionDraft>) => void;
  readonly remove: () => void;
}

function Line({ line, position, list, change, remove }: LineProps) {
  const { isFieldless, placeholder } = operatorOf(line.operator);
  return (
    <div
      class={isFieldless === true ? 'condition fieldless' : 'condition'}
      role="group"
      aria-label={`Condition ${position}`}
    >
      <Select
        label="Clause"
        value={line.clause}
        choices={CLAUSES}
        change={(clause) => {
          change({ clause: clause as ConditionDraft['clause'] });
        }}
      />
      {isFieldless !== true && (
        <input
          class="mono"
          aria-label="Field"
          placeholder="field"
          list={list}
          spellcheck={false}
          value={line.field}
          onInput={(event) => {
            change({ field: event.currentTarget.value });
          }}
        />
      )}
      <Select
        label="Operator"
        value={line.operator}
        choices={OPERATORS}
        change={(operator) => {
          change({ operator });
        }}
      />
      {placeholder !== undefined && (
        <input
          class="mono"
          aria-label="Value"
          placeholder={placeholder}
          spellcheck={false}
          value={line.value}
          onInput={(event) => {
            change({ value: event.currentTarget.value });
          }}
        />
      )}
      <button type="button" class="quiet" aria-label={`Remove condition ${position}`} onClick={remove}>
        Remove
      </button>
    </div>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly change: (value: string) => void;
}

/** A choice in a line, where there is no room for a label. */
function Select({ label, value, choices, change }: SelectProps) {
  return (
    <select
      aria-label={label}
      value={value}
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
  );
}
