import { compact } from '../service/exact-json';
import type { Point, PointId } from '../service/types';
import { cellText, columnsOf, isNumeric, payloadLine } from './fields';
import { OpenPoint } from './open-point';

interface Props {
  readonly points: readonly Point[];
  readonly selected: PointId | undefined;
  readonly select: (id: PointId) => void;
  /** With the scores of a search. */
  readonly isScored?: boolean;
}

/** Points in rows: the id, what a search found, and the fields that most of them have. */
export function PointTable({ points, selected, select, isScored = false }: Props) {
  const columns = columnsOf(points);
  const chosen = selected === undefined ? undefined : compact(selected);
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label="Points">
      <table class="points">
        <thead>
          <tr>
            <th scope="col">Id</th>
            {isScored && (
              <th scope="col" class="number">
                Score
              </th>
            )}
            {columns.length === 0 && <th scope="col">Payload</th>}
            {columns.map((field) => (
              <th scope="col" key={field} class={isNumeric(points, field) ? 'number' : ''}>
                {field}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={compact(point.id)} aria-selected={compact(point.id) === chosen}>
              <th scope="row">
                <OpenPoint id={point.id} select={select} />
              </th>
              {isScored && <td class="number">{scoreText(point)}</td>}
              {columns.length === 0 && <td class="cut">{payloadLine(point.payload)}</td>}
              {columns.map((field) => (
                <td key={field} class={isNumeric(points, field) ? 'number' : 'cut'}>
                  {cellText(point.payload?.[field])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function scoreText({ score }: Point): string {
  if (score === undefined) return '';
  const value = typeof score === 'number' ? score : Number(score.rawJSON);
  return value.toFixed(4);
}
