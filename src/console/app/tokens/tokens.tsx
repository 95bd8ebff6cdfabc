import { useState } from 'preact/hooks';
import { ConfirmButton } from '../parts/confirm';
import { Empty, Failure, Waiting } from '../parts/notice';
import { date } from '../service/format';
import { useLoading } from '../service/loading';
import { path, send } from '../service/request';
import { authEnabled, credential } from '../service/session';
import type { AccessToken, IssuedToken } from '../service/types';
import { Authentication } from './authentication';
import { CreateToken } from './create';
import { LimitsText } from './limits';
import { rotate } from './rotation';
import { ShowToken } from './show';

/** Access tokens, and the switch of authentication. */
export function TokensPage() {
  const held = credential.value;
  // While authentication is off only an admin gets the list: the section below says how.
  const isLocked = authEnabled.value === false && held === undefined;
  const tokens = useLoading(
    async (signal) =>
      isLocked
        ? undefined
        : ((await send('GET', '/auth/access_tokens', undefined, { signal })) as readonly AccessToken[]),
    [held?.token, isLocked],
  );
  const [isCreating, setCreating] = useState(false);
  const [issued, setIssued] = useState<IssuedToken>();
  const show = (token: IssuedToken): void => {
    setCreating(false);
    setIssued(token);
  };
  const create = (): void => {
    setCreating(true);
  };
  return (
    <>
      <header class="page-head">
        <h1>Tokens</h1>
        {tokens.value !== undefined && (
          <button type="button" class="primary" onClick={create}>
            New token
          </button>
        )}
      </header>
      <Failure error={tokens.error} retry={tokens.reload} />
      {tokens.isLoading && tokens.value === undefined && !isLocked && <Waiting what="the tokens" />}
      {tokens.value?.length === 0 && <NoTokens create={create} />}
      {tokens.value !== undefined && tokens.value.length > 0 && (
        <TokenTable tokens={tokens.value} show={show} reload={tokens.reload} />
      )}
      <Authentication />
      {isCreating && (
        <CreateToken
          show={show}
          close={() => {
            setCreating(false);
          }}
        />
      )}
      {issued !== undefined && (
        <ShowToken
          token={issued}
          close={() => {
            setIssued(undefined);
            // Not before: a refusal of the list ends the session, and with it this value.
            tokens.reload();
          }}
        />
      )}
    </>
  );
}

function NoTokens({ create }: { create: () => void }) {
  return (
    <Empty title="No access token yet">
      <p>
        Programs sign in with access tokens. Each has its own permissions, and can be deleted or rotated by
        itself.
      </p>
      <button type="button" class="primary" onClick={create}>
        New token
      </button>
    </Empty>
  );
}

interface TableProps {
  readonly tokens: readonly AccessToken[];
  readonly show: (token: IssuedToken) => void;
  readonly reload: () => void;
}

function TokenTable({ tokens, show, reload }: TableProps) {
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label="Access tokens">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Permission</th>
            <th scope="col">Reaches</th>
            <th scope="col">Made</th>
            <th scope="col">Expires</th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <TokenRow key={token.id} token={token} show={show} reload={reload} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TokenRow({ token, show, reload }: Omit<TableProps, 'tokens'> & { token: AccessToken }) {
  const { id, name, description, permission } = token;
  const isExpired = token.expired_at !== null && Date.parse(token.expired_at) <= Date.now();
  return (
    <tr>
      <th scope="row">
        {name}
        {description !== null && description !== '' && <p class="hint">{description}</p>}
      </th>
      <td>{permission.replaceAll(',', ', ')}</td>
      <td>
        <LimitsText token={token} />
      </td>
      <td class="when">{date(token.created_at)}</td>
      <td class="when">
        {token.expired_at === null ? 'never' : date(token.expired_at)}
        {isExpired && <span class="tag bad">expired</span>}
      </td>
      <td class="actions">
        {!isExpired && (
          <ConfirmButton
            label="Rotate"
            full={`Rotate ${name}`}
            look="quiet"
            confirm="Rotate: the old value stops now"
            work={async () => {
              show(await rotate(id));
            }}
          />
        )}
        <ConfirmButton
          label="Delete"
          full={`Delete ${name}`}
          confirm="Delete: it stops now"
          work={async () => {
            await send('DELETE', path('auth', 'access_token', id));
            reload();
          }}
        />
      </td>
    </tr>
  );
}
