/** Settings of a collection that are being changed: what the form holds, and the body that it stands for. */
import { isObject, valueAt, type JsonObject, type JsonValue } from '../service/exact-json';
import type { VectorField } from '../service/types';
import { quantizationOf } from './choices';

/** Settings that people change, each empty as long as it stays. */
export interface SettingsDraft {
  readonly quantization: string;
  readonly m: string;
  readonly efConstruct: string;
  readonly efSearch: string;
  readonly targetRecall: string;
  /** Takes the target recall away. */
  readonly hasNoTarget: boolean;
  readonly expireAtKey: string;
  readonly residency: string;
}

export const NOTHING: SettingsDraft = {
  quantization: '',
  m: '',
  efConstruct: '',
  efSearch: '',
  targetRecall: '',
  hasNoTarget: false,
  expireAtKey: '',
  residency: '',
};

/**
 * The body of the change: the settings of the form, and `further` ones, which count where both have the same one. In the settings
 * of the graphs each counts by itself. A vector that has a quantization, `m` or `ef_construct` of its own does not follow the
 * collection, and gets the new one too. Whether it has an `ef_search` or a target recall of its own is not known here.
 */
export function changeOf(
  draft: SettingsDraft,
  further: JsonObject | undefined,
  fields: readonly VectorField[],
): JsonObject {
  const ofCollection = settingsOf(draft);
  const change = merged(ofCollection, further ?? {});
  const ofVectors = fields
    .map((field) => [field.name, overridden(field, ofCollection, change)] as const)
    .filter(([, settings]) => Object.keys(settings).length > 0);
  return ofVectors.length === 0
    ? change
    : merged({ ...ofCollection, vectors: Object.fromEntries(ofVectors) }, further ?? {});
}

function settingsOf(draft: SettingsDraft): JsonObject {
  const { quantization, m, efConstruct, efSearch, targetRecall, hasNoTarget, expireAtKey, residency } = draft;
  const hnsw: JsonObject = {
    ...(m !== '' && { m: Number(m) }),
    ...(efConstruct !== '' && { ef_construct: Number(efConstruct) }),
    ...(efSearch !== '' && { ef_search: Number(efSearch) }),
    ...(targetRecall !== '' && { target_recall: Number(targetRecall) }),
    ...(hasNoTarget && { target_recall: null }),
  };
  return {
    ...(Object.keys(hnsw).length > 0 && { hnsw_config: hnsw }),
    ...(quantization !== '' && { quantization_config: quantizationOf(quantization) ?? 'Disabled' }),
    ...(expireAtKey !== '' && { expire_at_key: expireAtKey }),
    ...(residency !== '' && { residency }),
  };
}

/** Settings with others over them. A quantization is one setting, however it is written. */
function merged(settings: JsonObject, over: JsonObject): JsonObject {
  const changed = Object.entries(over).map(([key, value]): [string, JsonValue] => {
    const before = valueAt(settings, key);
    const areBoth = isObject(before) && isObject(value) && key !== 'quantization_config';
    return [key, areBoth ? merged(before, value) : value];
  });
  return { ...settings, ...Object.fromEntries(changed) };
}

/** Of the settings that the form changes, those that a vector has of its own, with the values that the collection gets. */
function overridden({ params }: VectorField, form: JsonObject, change: JsonObject): JsonObject {
  const [asked, given, own] = [form['hnsw_config'], change['hnsw_config'], params?.hnsw_config ?? {}];
  const graph =
    isObject(asked) && isObject(given)
      ? Object.entries(given).filter(([key]) => Object.hasOwn(asked, key) && Object.hasOwn(own, key))
      : [];
  const isCoded = form['quantization_config'] !== undefined && (params?.quantization_config ?? null) !== null;
  return {
    ...(graph.length > 0 && { hnsw_config: Object.fromEntries(graph) }),
    ...(isCoded && { quantization_config: change['quantization_config'] ?? null }),
  };
}
