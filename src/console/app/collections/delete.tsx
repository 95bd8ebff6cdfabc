import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog';
import { Form, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { plural } from '../service/format';
import { useAction } from '../service/loading';
import { goTo } from '../service/location';
import { path, result } from '../service/request';

interface Props {
  readonly name: string;
  readonly points: number | null;
  readonly close: () => void;
}

/** Deletes a collection, once its name is typed. */
export function DeleteCollection({ name, points, close }: Props) {
  const [typed, setTyped] = useState('');
  const deleting = useAction(async () => {
    await result('DELETE', path('collections', name));
    goTo('collections');
  });
  return (
    <Dialog title="Delete collection" close={close}>
      <Form submit={deleting.run}>
        <p>
          This removes <strong>{name}</strong> with {plural(points, 'point')}. It cannot be undone.
        </p>
        <TextField label="Type the name of the collection to delete it" value={typed} change={setTyped} />
        <Failure error={deleting.error} />
        <footer class="form-end">
          <button type="submit" class="danger" disabled={typed !== name || deleting.isRunning}>
            Delete collection
          </button>
          <button type="button" onClick={close}>
            Keep it
          </button>
        </footer>
      </Form>
    </Dialog>
  );
}
