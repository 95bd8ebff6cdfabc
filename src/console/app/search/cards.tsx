import { cardFieldsOf, cellText } from '../points/fields';
import { OpenPoint } from '../points/open-point';
import { scoreText } from '../points/table';
import { compact, valueAt } from '../service/exact-json';
import type { Point, PointId } from '../service/types';

/** Longer texts are cut; the point itself shows them whole. */
const MAX_CHARACTERS = 220;

export function Cards({ points, select }: { points: readonly Point[]; select: (id: PointId) => void }) {
  const fields = cardFieldsOf(points);
  return (
    <ol class="cards">
      {points.map((point) => (
        <li key={compact(point.id)} class="card">
          <header class="row spread">
            <OpenPoint id={point.id} select={select} />
            <span class="faint">{scoreText(point)}</span>
          </header>
          <dl>
            {fields
              .map((field) => ({ field, text: cellText(valueAt(point.payload, field)) }))
              .filter(({ text }) => text !== '')
              .map(({ field, text }) => (
                <div key={field}>
                  <dt>{field}</dt>
                  <dd>{shortened(text)}</dd>
                </div>
              ))}
          </dl>
        </li>
      ))}
    </ol>
  );
}

function shortened(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)} …` : text;
}
