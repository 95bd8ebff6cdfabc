import { useState } from 'preact/hooks';
import { ConfirmButton } from '../parts/confirm';
import { Form, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { useAction, useLoading } from '../service/loading';
import { path, result } from '../service/request';

interface Alias {
  readonly alias_name: string;
}

const PATH = '/collections/aliases';

/** Other names of a collection (C12): listed, given and taken away. */
export function Aliases({ name }: { name: string }) {
  const aliases = useLoading(
    (signal) =>
      result<{ aliases: readonly Alias[] }>('GET', path('collections', name, 'aliases'), undefined, {
        signal,
      }),
    [name],
  );
  const found = aliases.value?.aliases ?? [];
  return (
    <section>
      <h2>Aliases</h2>
      <p>
        Other names that requests may use. One that belongs to another collection moves here when it is given.
      </p>
      <Failure error={aliases.error} retry={aliases.reload} />
      {found.length > 0 && (
        <ul class="chips" aria-label="Aliases">
          {found.map(({ alias_name: alias }) => (
            <li key={alias}>
              <span>{alias}</span>
              <ConfirmButton
                label="Remove"
                full={`Remove the alias ${alias}`}
                confirm="Remove the alias"
                work={async () => {
                  await result('POST', PATH, { actions: [{ delete_alias: { alias_name: alias } }] });
                  aliases.reload();
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <AddAlias name={name} added={aliases.reload} />
    </section>
  );
}

function AddAlias({ name, added }: { name: string; added: () => void }) {
  const [alias, setAlias] = useState('');
  const body = { actions: [{ create_alias: { alias_name: alias, collection_name: name } }] };
  const adding = useAction(async () => {
    await result('POST', PATH, body);
    setAlias('');
    added();
  });
  return (
    <Form submit={adding.run} label="Give an alias">
      <div class="inline-field">
        <TextField label="Alias" value={alias} placeholder="current" change={setAlias} />
        <button type="submit" disabled={alias === '' || adding.isRunning}>
          Give it
        </button>
      </div>
      <Failure error={adding.error} />
      {alias !== '' && <RequestView request={{ method: 'POST', path: PATH, body }} />}
    </Form>
  );
}
