import { AreaField, SelectField, SwitchField, TextField } from '../parts/form';
import { objectProblem, readJson } from '../parts/json-field';
import { isObject, type JsonObject } from '../service/exact-json';
import type { AccessToken, CollectionGrant } from '../service/types';

/** A line of the collections that a token may reach. */
interface GrantDraft {
  readonly key: number;
  readonly by: 'name' | 'prefix';
  readonly text: string;
  readonly read: boolean;
  readonly write: boolean;
}

/** What a new token may reach (C15): everything where there is neither. */
export interface LimitsDraft {
  readonly grants: readonly GrantDraft[];
  readonly filter: string;
}

export const NO_LIMITS: LimitsDraft = { grants: [], filter: '' };

/** As many as the server takes. */
const MAX_GRANTS = 100;

let nextKey = 0;

function newGrant(): GrantDraft {
  return { key: nextKey++, by: 'name', text: '', read: true, write: false };
}

/** The fields of the request, or what is missing for them. */
export function readLimits({ grants, filter }: LimitsDraft): {
  readonly fields?: { readonly collections?: readonly CollectionGrant[]; readonly filter?: JsonObject };
  readonly problem?: string;
} {
  const { value, problem } = readJson(filter);
  const wrong = problem ?? objectProblem(value);
  if (wrong !== undefined) return { problem: wrong };
  if (grants.some(({ text }) => text === '')) return { problem: 'A collection needs a name.' };
  if (grants.some(({ read, write }) => !read && !write)) {
    return { problem: 'A collection needs read or write.' };
  }
  return {
    fields: {
      ...(grants.length > 0 && { collections: grants.map(grantOf) }),
      ...(isObject(value) && { filter: value }),
    },
  };
}

function grantOf({ by, text, read, write }: GrantDraft): CollectionGrant {
  const permission = [...(read ? ['read'] : []), ...(write ? ['write'] : [])].join(',');
  return by === 'name' ? { name: text, permission } : { prefix: text, permission };
}

interface Props {
  readonly draft: LimitsDraft;
  readonly change: (draft: LimitsDraft) => void;
  /** Names that can be offered. */
  readonly names: readonly string[];
}

/** The collections and the points that a new token may reach. */
export function LimitFields({ draft, change, names }: Props) {
  const { grants, filter } = draft;
  const set = (over: readonly GrantDraft[]): void => {
    change({ ...draft, grants: over });
  };
  const { value, problem } = readJson(filter);
  return (
    <>
      <fieldset class="plain">
        <legend>Collections</legend>
        {grants.length === 0 && <p class="hint">All of them, also those that are made later.</p>}
        {grants.map((grant, index) => (
          <GrantFields
            key={grant.key}
            grant={grant}
            position={index + 1}
            names={names}
            change={(over) => {
              set(grants.map((of) => (of === grant ? { ...of, ...over } : of)));
            }}
            remove={() => {
              set(grants.filter((of) => of !== grant));
            }}
          />
        ))}
        <div class="row">
          <button
            type="button"
            disabled={grants.length >= MAX_GRANTS}
            onClick={() => {
              set([...grants, newGrant()]);
            }}
          >
            {grants.length === 0 ? 'Only some collections' : 'Add another'}
          </button>
        </div>
      </fieldset>
      <details class="more">
        <summary>Only points that match a filter</summary>
        <AreaField
          label="Filter as JSON"
          rows={5}
          value={filter}
          problem={problem ?? objectProblem(value)}
          placeholder={'{ "must": [{ "key": "tenant", "match": { "value": "a" } }] }'}
          hint="Such a token reads and writes points only, those that match. Conditions on texts are not possible."
          change={(text) => {
            change({ ...draft, filter: text });
          }}
        />
      </details>
    </>
  );
}

interface GrantProps {
  readonly grant: GrantDraft;
  readonly position: number;
  readonly names: readonly string[];
  readonly change: (over: Partial<GrantDraft>) => void;
  readonly remove: () => void;
}

const WAYS = [
  { value: 'name', label: 'Name' },
  { value: 'prefix', label: 'Begins with' },
];

function GrantFields({ grant, position, names, change, remove }: GrantProps) {
  const { by, text, read, write } = grant;
  return (
    <div class="grant" role="group" aria-label={`Collection ${position}`}>
      <SelectField
        label="By"
        value={by}
        choices={WAYS}
        change={(way) => {
          change({ by: way === 'name' ? 'name' : 'prefix' });
        }}
      />
      <TextField
        label={by === 'name' ? 'Collection' : 'Beginning of names'}
        value={text}
        choices={by === 'name' ? names : []}
        change={(value) => {
          change({ text: value });
        }}
      />
      <SwitchField
        label="Read"
        value={read}
        change={(isOn) => {
          change({ read: isOn });
        }}
      />
      <SwitchField
        label="Write"
        value={write}
        change={(isOn) => {
          change({ write: isOn });
        }}
      />
      <button type="button" class="quiet" aria-label={`Remove collection ${position}`} onClick={remove}>
        Remove
      </button>
    </div>
  );
}

/** More are counted. */
const MAX_SHOWN = 4;

/** What a token may reach, in its row of the table. */
export function LimitsText({ token: { collections, filter } }: { token: AccessToken }) {
  if (collections === undefined && filter === undefined) return <span class="faint">everything</span>;
  const more = (collections?.length ?? 0) - MAX_SHOWN;
  return (
    <>
      {collections === undefined && 'all collections'}
      {collections !== undefined && (
        <ul class="plain-list">
          {collections.slice(0, MAX_SHOWN).map((grant) => (
            <li key={`${grant.name ?? ''}\n${grant.prefix ?? ''}`}>
              {grant.name ?? `${grant.prefix ?? ''}…`}{' '}
              <span class="faint">{grant.permission.replaceAll(',', ', ')}</span>
            </li>
          ))}
          {more > 0 && <li class="faint">and {more} more</li>}
        </ul>
      )}
      {filter !== undefined && (
        <p class="hint">
          points that match <code class="wrapping">{JSON.stringify(filter)}</code>
        </p>
      )}
    </>
  );
}
