import { useEffect, useState } from 'preact/hooks';
import { compact, valueAt } from '../service/exact-json';
import type { Point, PointId } from '../service/types';
import { cellText, columnsOf, isNumeric, payloadLine } from './fields';
import { OpenPoint } from './open-point';

interface Props {
  readonly points: readonly Point[];
  readonly selected: PointId | undefined;
  readonly select: (id: PointId) => void;
  /** With the scores of a search. */
  readonly isScored?: boolean;
  /** Rows that are added in one frame; without it all are in the first. */
  readonly rowsAFrame?: number;
}

/** Points in rows: the id, what a search found, and the fields that most of them have. */
export function PointTable({ points, selected, select, isScored = false, rowsAFrame = Infinity }: Props) {
  const shown = useRows(points.length, rowsAFrame);
  const columns = columnsOf(points).map((field) => ({ field, isNumber: isNumeric(points, field) }));
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
            {columns.map(({ field, isNumber }) => (
              <th scope="col" key={field} class={isNumber ? 'number' : ''}>
                {field}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.slice(0, shown).map((point) => (
            <tr key={compact(point.id)} aria-selected={compact(point.id) === chosen}>
              <th scope="row">
                <OpenPoint id={point.id} select={select} />
              </th>
              {isScored && <td class="number">{scoreText(point)}</td>}
              {columns.length === 0 && <td class="cut">{payloadLine(point.payload)}</td>}
              {columns.map(({ field, isNumber }) => (
                <td key={field} class={isNumber ? 'number' : 'cut'}>
                  {cellText(valueAt(point.payload, field))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** How many of some rows are shown: a part more in each frame. */
function useRows(count: number, rowsAFrame: number): number {
  const [shown, setShown] = useState(rowsAFrame);
  useEffect(() => {
    if (shown >= count) return undefined;
    const frame = requestAnimationFrame(() => {
      setShown(shown + rowsAFrame);
    });
    return () => {
      cancelAnimationFrame(frame);
    };
  }, [count, rowsAFrame, shown]);
  return shown;
}

export function scoreText({ score }: Point): string {
  if (score === undefined) return '';
  const value = typeof score === 'number' ? score : Number(score.rawJSON);
  return value.toFixed(4);
}
