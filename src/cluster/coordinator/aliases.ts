import { EngineError } from '../../engine/types';
import type { AliasAction } from '../map/event';
import type { ShardMapState } from '../map/state';
import { bad, jsonOf } from './answers';

/** The actions of a change of aliases, as the map takes them. */
export function aliasActionsOf(body: Buffer, state: ShardMapState): readonly AliasAction[] {
  const { actions, ...rest } = jsonOf(body);
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw bad(`unknown field: ${unknown}`);
  if (!Array.isArray(actions)) throw bad('actions must be a list');
  const known = new Map(state.aliases);
  return actions.flatMap((action: unknown, at) => {
    const made = actionsOf(action, `actions[${at}]`, known, state);
    for (const one of made) {
      if (one.action === 'set') known.set(one.alias, one.collection);
      else known.delete(one.alias);
    }
    return made;
  });
}

function actionsOf(
  action: unknown,
  place: string,
  known: ReadonlyMap<string, number>,
  state: ShardMapState,
): readonly AliasAction[] {
  const fields = action as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>> | null;
  const { create_alias: create, delete_alias: remove, rename_alias: rename } = fields ?? {};
  if (create !== undefined) {
    const alias = textOf(create['alias_name'], `${place}.create_alias.alias_name`);
    const name = textOf(create['collection_name'], `${place}.create_alias.collection_name`);
    const collection = state.names.get(name);
    if (collection === undefined) throw new EngineError('collection_not_found', { name });
    return [{ action: 'set', alias, collection }];
  }
  if (remove !== undefined) {
    return [{ action: 'delete', alias: textOf(remove['alias_name'], `${place}.delete_alias.alias_name`) }];
  }
  if (rename !== undefined) {
    const from = textOf(rename['old_alias_name'], `${place}.rename_alias.old_alias_name`);
    const to = textOf(rename['new_alias_name'], `${place}.rename_alias.new_alias_name`);
    const collection = known.get(from);
    if (collection === undefined) throw new EngineError('alias_not_found', { name: from });
    return [
      { action: 'delete', alias: from },
      { action: 'set', alias: to, collection },
    ];
  }
  throw bad(`${place} must have create_alias, delete_alias or rename_alias`);
}

function textOf(value: unknown, place: string): string {
  if (typeof value !== 'string' || value === '') throw bad(`${place} must be a string`);
  return value;
}
