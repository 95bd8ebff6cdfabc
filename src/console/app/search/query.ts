/** A search as the page holds it, and the body that it stands for. */
import type { JsonObject, JsonValue } from '../service/exact-json';
import { isObject } from '../service/exact-json';
import { readJson } from '../parts/json-field';
import { listParts } from '../points/comma-list';
import { NO_FILTER, readFilter, type FilterDraft } from '../points/filter';
import { parseId, type VectorField } from '../service/types';
import { TEXT_MODEL } from '../upload/mapping';

export type Mode = 'id' | 'text' | 'vector' | 'random';

export interface SearchDraft {
  readonly mode: Mode;
  readonly using: string;
  readonly id: string;
  readonly text: string;
  readonly model: string;
  readonly vector: string;
  readonly filter: FilterDraft;
  readonly limit: string;
  readonly offset: string;
  readonly threshold: string;
  readonly ef: string;
  /** A share, or empty for what the collection or the server has. */
  readonly targetRecall: string;
  readonly exact: boolean;
  readonly indexedOnly: boolean;
  readonly ignoreCodes: boolean;
  readonly rescore: boolean;
  readonly oversampling: string;
  readonly explain: boolean;
  /** Ids of points of which the explanation says why they are missing. */
  readonly why: string;
}

/** A text can be searched at once where there is a sparse vector; otherwise an id is what everybody has. */
export function newSearch(fields: readonly VectorField[], id: string | undefined): SearchDraft {
  const sparse = fields.find(({ kind }) => kind === 'sparse');
  const isText = id === undefined && sparse !== undefined;
  return {
    mode: isText ? 'text' : 'id',
    using: (isText ? sparse : fields[0])?.name ?? '',
    id: id ?? '',
    text: '',
    model: TEXT_MODEL,
    vector: '',
    filter: NO_FILTER,
    limit: '10',
    offset: '',
    threshold: '',
    ef: '',
    targetRecall: '',
    exact: false,
    indexedOnly: false,
    ignoreCodes: false,
    rescore: true,
    oversampling: '',
    explain: false,
    why: '',
  };
}

/** The body of a query, or what is missing for one. */
export function bodyOf(draft: SearchDraft): { readonly body?: JsonObject; readonly problem?: string } {
  const query = queryOf(draft);
  if ('problem' in query) return query;
  const { filter, problem } = readFilter(draft.filter);
  if (problem !== undefined) return { problem };
  const params = paramsOf(draft);
  return {
    body: {
      query: query.query,
      ...(draft.using !== '' && draft.mode !== 'random' && { using: draft.using }),
      ...(filter !== undefined && { filter }),
      ...(Object.keys(params).length > 0 && draft.mode !== 'random' && { params }),
      ...(draft.threshold !== '' && draft.mode !== 'random' && { score_threshold: Number(draft.threshold) }),
      limit: Number(draft.limit),
      ...(draft.offset !== '' && { offset: Number(draft.offset) }),
      with_payload: true,
    },
  };
}

function queryOf(draft: SearchDraft): { readonly query: JsonValue } | { readonly problem: string } {
  switch (draft.mode) {
    case 'id': {
      const id = parseId(draft.id);
      return id === undefined ? { problem: 'Give the id of a point.' } : { query: id };
    }
    case 'text':
      return draft.text === ''
        ? { problem: 'Give a text.' }
        : { query: { text: draft.text, model: draft.model } };
    case 'vector':
      return vectorOf(draft.vector);
    case 'random':
      return { query: { sample: 'random' } };
  }
}

function vectorOf(text: string): { readonly query: JsonValue } | { readonly problem: string } {
  const { value, problem } = readJson(text);
  if (problem !== undefined) return { problem };
  return Array.isArray(value) || isObject(value)
    ? { query: value }
    : { problem: 'Give a vector: a list of numbers, or an object with indices and values.' };
}

function paramsOf(draft: SearchDraft): JsonObject {
  const quantization: JsonObject = {
    ...(draft.ignoreCodes && { ignore: true }),
    ...(!draft.rescore && { rescore: false }),
    ...(draft.oversampling !== '' && { oversampling: Number(draft.oversampling) }),
  };
  const why = listParts(draft.why).flatMap((text) => (parseId(text) ?? []) as JsonValue | []);
  return {
    ...(draft.ef !== '' && draft.targetRecall === '' && { hnsw_ef: Number(draft.ef) }),
    ...(draft.targetRecall !== '' && { target_recall: Number(draft.targetRecall) }),
    ...(draft.exact && { exact: true }),
    ...(draft.indexedOnly && { indexed_only: true }),
    ...(Object.keys(quantization).length > 0 && { quantization }),
    ...(draft.explain && { explain: true }),
    ...(draft.explain && why.length > 0 && { why }),
  };
}
