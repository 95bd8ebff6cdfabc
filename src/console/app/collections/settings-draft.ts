/** Settings of a collection that are being changed: what the form holds, and the body that it stands for. */
import { isObject, type JsonObject } from '../service/exact-json';
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
 * The body of the change: the fields, and `further` settings, which count where both have the same one. In the settings of the
 * graphs each counts by itself.
 */
export function changeOf(
  {
    quantization,
    m,
    efConstruct,
    efSearch,
    targetRecall,
    hasNoTarget,
    expireAtKey,
    residency,
  }: SettingsDraft,
  further: JsonObject | undefined,
): JsonObject {
  const hnsw: JsonObject = {
    ...(m !== '' && { m: Number(m) }),
    ...(efConstruct !== '' && { ef_construct: Number(efConstruct) }),
    ...(efSearch !== '' && { ef_search: Number(efSearch) }),
    ...(targetRecall !== '' && { target_recall: Number(targetRecall) }),
    ...(hasNoTarget && { target_recall: null }),
  };
  const furtherHnsw = further?.['hnsw_config'];
  return {
    ...(Object.keys(hnsw).length > 0 && { hnsw_config: hnsw }),
    ...(quantization !== '' && { quantization_config: quantizationOf(quantization) ?? 'Disabled' }),
    ...(expireAtKey !== '' && { expire_at_key: expireAtKey }),
    ...(residency !== '' && { residency }),
    ...further,
    ...(isObject(furtherHnsw) && { hnsw_config: { ...hnsw, ...furtherHnsw } }),
  };
}
