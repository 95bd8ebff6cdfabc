import { textsOf, type AuditFields } from '../http/audit-fields';

/** Actions of a batch that a line of the audit stream lists. */
const MAX_ACTIONS = 1000;
const NAMES = ['collection_name', 'alias_name', 'old_alias_name', 'new_alias_name'];

/** The names in a batch of actions on aliases. */
export function namesInActions(body: unknown): AuditFields {
  const { actions } = (body ?? {}) as { readonly actions?: unknown };
  if (!Array.isArray(actions)) return {};
  const more = actions.length - MAX_ACTIONS;
  return {
    actions: actions.slice(0, MAX_ACTIONS).map(namesInAction),
    ...(more > 0 && { more_actions: more }),
  };
}

function namesInAction(action: unknown): AuditFields {
  const { create_alias, rename_alias, delete_alias } = (action ?? {}) as AuditFields;
  const known = Object.entries({ create_alias, rename_alias, delete_alias });
  return Object.fromEntries(
    known.filter(([, named]) => named !== undefined).map(([kind, named]) => [kind, textsOf(named, NAMES)]),
  );
}
