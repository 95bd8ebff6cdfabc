/** The settings that dense vectors have: their own, or else those of the collection. */
import { compact } from '../service/exact-json';
import { vectorFields, type CollectionInfo, type VectorField } from '../service/types';

export function quantizationText(info: CollectionInfo, { params }: VectorField): string {
  const config = params?.quantization_config ?? info.config.quantization_config;
  if (config === null) return 'chosen by the server';
  const [[kind, of] = ['', undefined]] = Object.entries(config).filter(([, value]) => value !== null);
  const detail = Object.values((of ?? {}) as object).find((value) => typeof value === 'string');
  return kind === '' ? compact(config) : `${kind}${typeof detail === 'string' ? `, ${detail}` : ''}`;
}

/** The quantizations of the dense vectors, each once. */
export function presentQuantizations(info: CollectionInfo): readonly string[] {
  return ofVectors(info, (field) => quantizationText(info, field));
}

/** The values that the graphs of the dense vectors have of a setting, each once. */
export function presentOfGraphs(info: CollectionInfo, key: string): readonly string[] {
  return ofVectors(info, ({ params }) => {
    const value = params?.hnsw_config?.[key] ?? info.config.hnsw_config[key];
    return typeof value === 'number' ? String(value) : 'the default';
  });
}

/** What is said of the collection where it has no dense vector. */
function ofVectors(info: CollectionInfo, textOf: (field: VectorField) => string): readonly string[] {
  const dense = vectorFields(info).filter(({ kind }) => kind !== 'sparse');
  const fields: readonly VectorField[] = dense.length === 0 ? [{ name: '', kind: 'dense' }] : dense;
  return [...new Set(fields.map(textOf))];
}
