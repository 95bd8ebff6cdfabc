import { useEffect, useRef, useState } from 'preact/hooks';
import { AreaField, Form } from '../parts/form';
import { ConfirmButton } from '../parts/confirm';
import { CopyButton } from '../parts/copy';
import { JsonView } from '../parts/json-view';
import { objectProblem, useJsonText } from '../parts/json-field';
import { Failure, Waiting } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { pretty, type JsonObject } from '../service/exact-json';
import { useAction, useLoading } from '../service/loading';
import { linkTo } from '../service/location';
import { pointsPath, RequestError, result } from '../service/request';
import { idText, type Point, type PointId } from '../service/types';

interface Props {
  readonly name: string;
  readonly id: PointId;
  /** The point was changed or deleted. */
  readonly changed: () => void;
  readonly close: () => void;
}

async function readPoint(
  name: string,
  id: PointId,
  withVector: boolean,
  signal: AbortSignal,
): Promise<Point> {
  const body = { ids: [id], with_payload: true, with_vector: withVector };
  const [point] = await result<readonly Point[]>('POST', pointsPath(name), body, { exact: true, signal });
  // In the dialect qdrant an absent id is left out of the answer.
  if (point === undefined) throw new RequestError(`Point not found: ${idText(id)}`, 404);
  return point;
}

/** One point: payload and vectors, which are read when they are asked for; edited, deleted, searched from. */
export function PointPanel({ name, id, changed, close }: Props) {
  const [withVector, setWithVector] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const point = useLoading((signal) => readPoint(name, id, withVector, signal), [name, withVector]);
  useEffect(() => {
    heading.current?.focus();
  }, []);
  return (
    <aside class="card panel" aria-label={`Point ${idText(id)}`}>
      <header class="row spread">
        <h2 ref={heading} tabIndex={-1}>
          Point <span class="mono">{idText(id)}</span>
        </h2>
        <button type="button" class="quiet" aria-label="Close the point" onClick={close}>
          ✕
        </button>
      </header>
      <Failure error={point.error} retry={point.reload} />
      {point.value === undefined && point.error === undefined && <Waiting what="the point" />}
      {point.value !== undefined && isEditing && (
        <EditPayload
          name={name}
          point={point.value}
          close={() => {
            setEditing(false);
          }}
          saved={() => {
            setEditing(false);
            point.reload();
            changed();
          }}
        />
      )}
      {point.value !== undefined && !isEditing && (
        <PointView
          {...{ name, id, changed, close, withVector, point: point.value }}
          edit={() => {
            setEditing(true);
          }}
          showVectors={() => {
            setWithVector(true);
          }}
        />
      )}
    </aside>
  );
}

interface ViewProps extends Props {
  readonly point: Point;
  readonly withVector: boolean;
  readonly edit: () => void;
  readonly showVectors: () => void;
}

function PointView({ name, id, changed, close, point, withVector, edit, showVectors }: ViewProps) {
  return (
    <>
      <div class="row">
        <a class="button" href={linkTo('collections', name, 'search', idText(id))}>
          Find similar
        </a>
        <button type="button" onClick={edit}>
          Edit payload
        </button>
        <CopyButton text={pretty(point)} label="Copy JSON" />
        <DeletePoint name={name} id={id} changed={changed} close={close} />
      </div>
      <JsonView value={point.payload ?? {}} label="Payload" />
      {withVector ? (
        <JsonView value={point.vector ?? null} label="Vectors" />
      ) : (
        <button type="button" onClick={showVectors}>
          Show vectors
        </button>
      )}
    </>
  );
}

function DeletePoint({ name, id, changed, close }: Props) {
  return (
    <ConfirmButton
      label="Delete"
      full={`Delete point ${idText(id)}`}
      confirm="Delete the point"
      keep="Keep it"
      work={async () => {
        await result('POST', pointsPath(name, 'delete'), { points: [id] });
        close();
        changed();
      }}
    />
  );
}

interface EditProps {
  readonly name: string;
  readonly point: Point;
  readonly saved: () => void;
  readonly close: () => void;
}

function EditPayload({ name, point, saved, close }: EditProps) {
  const json = useJsonText(point.payload ?? {});
  const problem = json.problem ?? objectProblem(json.value);
  const payload = (json.value ?? {}) as JsonObject;
  const request = {
    method: 'PUT',
    path: pointsPath(name, 'payload'),
    body: { payload, points: [point.id] },
  } as const;
  const saving = useAction(async () => {
    await result('PUT', request.path, request.body);
    saved();
  });
  return (
    <Form submit={saving.run} label="Change the point">
      <AreaField label="Payload" rows={14} value={json.text} problem={problem} change={json.setText} />
      <Failure error={saving.error} />
      <div class="form-end">
        <button type="submit" class="primary" disabled={problem !== undefined || saving.isRunning}>
          Replace the payload
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
      <RequestView request={request} />
    </Form>
  );
}
