import { loadBinding } from './load';
import { EngineError, type EngineErrorCode, type EngineErrorDetails, type EngineRequest } from './types';

/** The forms of a body as the binding takes them. */
const FORMS = { json: 0, packed: 1, arrow: 4, lines: 8 } as const;
/** Beside the form of the body: the vectors of the answer are to be packed. */
const PACKED_ANSWER = 2;

/** The form of a body. */
export type BodyForm = keyof typeof FORMS;

/** The number of each operation in the binding. */
let places: ReadonlyMap<string, number> | undefined;

/** The number of an operation. */
export function placeOf(operation: string): number {
  places ??= new Map(
    loadBinding()
      .NativeEngine.operations()
      .map((name, place) => [name, place]),
  );
  const place = places.get(operation);
  if (place === undefined) throw new Error(`The native binding has no operation ${operation}.`);
  return place;
}

/** The form of the body of a request. */
export function bodyFormOf({ packing, isArrow, isLines }: EngineRequest): BodyForm {
  if (isArrow === true) return 'arrow';
  if (isLines === true) return 'lines';
  return packing?.body === true ? 'packed' : 'json';
}

/** The number of a form. */
export function formNumber(form: BodyForm): number {
  return FORMS[form];
}

/** The number of the forms of a request's body and of its answer; undefined where both are JSON. */
export function formsOf(request: EngineRequest): number | undefined {
  const answer = request.packing?.answer === true ? PACKED_ANSWER : 0;
  const forms = FORMS[bodyFormOf(request)] + answer;
  return forms === 0 ? undefined : forms;
}

/** The error that the binding names by its code and its details, as JSON. */
export function failureOf({
  code,
  details,
}: {
  readonly code?: string | undefined;
  readonly details?: string | undefined;
}): EngineError {
  // The binding names codes of this list only, with their details.
  return new EngineError(
    (code ?? 'internal') as EngineErrorCode,
    JSON.parse(details ?? '{}') as EngineErrorDetails,
  );
}
