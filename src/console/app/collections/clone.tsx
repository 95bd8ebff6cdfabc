import { useState } from 'preact/hooks';
import { Form, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { useAction } from '../service/loading';
import { goTo } from '../service/location';
import { path, result } from '../service/request';

/** Makes another collection of the same state (C26). */
export function Clone({ name }: { name: string }) {
  const [to, setTo] = useState('');
  const request = { method: 'POST', path: path('collections', name, 'clone'), body: { name: to } } as const;
  const cloning = useAction(async () => {
    await result('POST', request.path, request.body);
    goTo('collections', to);
  });
  return (
    <section>
      <h2>Clone</h2>
      <p>
        Another collection with the same points, indexes and settings. It takes no room until the two differ,
        where the file system has links.
      </p>
      <Form submit={cloning.run} label="Clone the collection">
        <div class="inline-field">
          <TextField label="Name of the clone" value={to} placeholder={`${name}-next`} change={setTo} />
          <button type="submit" disabled={to === '' || cloning.isRunning}>
            {cloning.isRunning ? 'Cloning …' : 'Clone'}
          </button>
        </div>
        <Failure error={cloning.error} />
        {to !== '' && <RequestView request={request} />}
      </Form>
    </section>
  );
}
