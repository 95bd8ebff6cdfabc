import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog';
import { Form, SelectField, SwitchField, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { useAction, useLoading } from '../service/loading';
import { send } from '../service/request';
import type { IssuedToken } from '../service/types';
import { listNames } from '../collections/list';
import { LimitFields, NO_LIMITS, readLimits } from './limits';

const PERMISSIONS = [
  { name: 'read', hint: 'Every GET, and every search, query, scroll and count.' },
  { name: 'write', hint: 'Making, changing and deleting collections, points, payloads and indexes.' },
  {
    name: 'admin',
    hint: 'Making, listing, rotating and deleting access tokens. It does not include the others.',
  },
] as const;

const DAY = 86_400;

const LIFETIMES = [
  { value: '', label: 'Never' },
  ...[1, 7, 30, 90, 365].map((days) => ({
    value: String(days * DAY),
    label: days === 1 ? 'In a day' : `In ${days} days`,
  })),
];

interface Props {
  readonly show: (token: IssuedToken) => void;
  readonly close: () => void;
}

export function CreateToken({ show, close }: Props) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [permissions, setPermissions] = useState<readonly string[]>(['read']);
  const [lifetime, setLifetime] = useState('');
  const [limits, setLimits] = useState(NO_LIMITS);
  const names = useLoading((signal) => listNames(signal).catch(() => []), []);
  const { fields, problem } = readLimits(limits);
  const isLimited = limits.grants.length > 0 || fields?.filter !== undefined;
  const isTooMuch = isLimited && permissions.includes('admin');
  const isWhole = name !== '' && permissions.length > 0 && problem === undefined;
  const creating = useAction(async () => {
    const body = {
      name,
      permission: permissions.join(','),
      ...(description !== '' && { description }),
      ...fields,
      ...(lifetime !== '' && { will_expire: true, expires_in_seconds: Number(lifetime) }),
    };
    show((await send('POST', '/auth/access_token', body)) as IssuedToken);
  });
  return (
    <Dialog title="New token" close={close}>
      <Form submit={creating.run}>
        <TextField label="Name" required value={name} change={setName} />
        <TextField
          label="Description"
          value={description}
          hint="What it is for. May be empty."
          change={setDescription}
        />
        <Permissions permissions={permissions} change={setPermissions} />
        {isTooMuch && (
          <p class="problem" role="alert">
            A token with limits cannot have admin.
          </p>
        )}
        <LimitFields draft={limits} change={setLimits} names={names.value ?? []} />
        <SelectField label="Expires" value={lifetime} choices={LIFETIMES} change={setLifetime} />
        <Failure error={creating.error} />
        <footer class="form-end">
          <button type="submit" class="primary" disabled={!isWhole || isTooMuch || creating.isRunning}>
            Create token
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
          {problem !== undefined && <p class="hint">{problem}</p>}
        </footer>
      </Form>
    </Dialog>
  );
}

interface PermissionsProps {
  readonly permissions: readonly string[];
  readonly change: (permissions: readonly string[]) => void;
}

function Permissions({ permissions, change }: PermissionsProps) {
  return (
    <fieldset class="plain">
      <legend>Permission</legend>
      {PERMISSIONS.map(({ name, hint }) => (
        <SwitchField
          key={name}
          label={name}
          hint={hint}
          value={permissions.includes(name)}
          change={(isOn) => {
            const others = permissions.filter((other) => other !== name);
            change(isOn ? [...others, name] : others);
          }}
        />
      ))}
    </fieldset>
  );
}
