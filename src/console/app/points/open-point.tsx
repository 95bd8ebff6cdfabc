import { idText, type PointId } from '../service/types';

/** The id of a point as a button that opens it. */
export function OpenPoint({ id, select }: { readonly id: PointId; readonly select: (id: PointId) => void }) {
  return (
    <button
      type="button"
      class="quiet mono"
      onClick={() => {
        select(id);
      }}
    >
      {idText(id)}
    </button>
  );
}
