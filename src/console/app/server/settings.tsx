import { useState } from 'preact/hooks';
import { Segments } from '../parts/form';
import { Failure } from '../parts/notice';
import { useLoading } from '../service/loading';
import { result } from '../service/request';
import { credential } from '../service/session';

interface Setting {
  readonly name: string;
  readonly value: string | number | boolean | readonly string[] | null;
  /** Null for the default. */
  readonly from: string | null;
  readonly about: string;
  readonly secret: boolean;
}

const SHOWN = [
  { value: 'given', label: 'Given' },
  { value: 'all', label: 'All' },
];

/** The settings in force, and where each comes from. The server tells them to its admin only. */
export function Settings() {
  const isAdmin = credential.value?.kind === 'admin';
  const settings = useLoading(
    async (signal) =>
      isAdmin
        ? (await result<{ settings: readonly Setting[] }>('GET', '/settings', undefined, { signal })).settings
        : [],
    [isAdmin],
  );
  const [which, setWhich] = useState('given');
  const all = settings.value ?? [];
  const shown = which === 'all' ? all : all.filter(({ from }) => from !== null);
  return (
    <section>
      <div class="row spread">
        <h2>Settings</h2>
        {isAdmin && <Segments label="Which settings" value={which} choices={SHOWN} change={setWhich} />}
      </div>
      {!isAdmin && <p class="hint">The server tells its settings to the admin, once signed in.</p>}
      <Failure error={settings.error} retry={settings.reload} />
      {isAdmin && settings.value !== undefined && shown.length === 0 && (
        <p class="hint">None is given: every setting has its default.</p>
      )}
      {shown.length > 0 && (
        <div class="table-frame short" tabIndex={0} role="region" aria-label="Settings">
          <table>
            <thead>
              <tr>
                <th scope="col">Setting</th>
                <th scope="col">Value</th>
                <th scope="col">Comes from</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ name, value, from, about, secret }) => (
                <tr key={name}>
                  <th scope="row" class="mono" title={about}>
                    {name}
                  </th>
                  <td class="mono">{valueText(value, secret, from)}</td>
                  <td>{from ?? <span class="faint">default</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function valueText(value: Setting['value'], secret: boolean, from: string | null): string {
  if (secret) return from === null ? 'none' : 'given, not shown';
  if (value === null) return 'none';
  return Array.isArray(value) ? value.join(', ') || 'none' : String(value);
}
