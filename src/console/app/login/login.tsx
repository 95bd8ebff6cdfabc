import { useState } from 'preact/hooks';
import { Form, Segments, TextField } from '../parts/form';
import { Mark } from '../parts/mark';
import { Failure, Notice } from '../parts/notice';
import { useAction } from '../service/loading';
import { ending, type Ending } from '../service/session';
import { signInAsAdmin, signInWithToken } from './sign-in';

const ENDINGS: Readonly<Record<Ending, string>> = {
  expired:
    'Your sign-in has ended: it expired, or the password was changed. Sign in again to go on where you were.',
  refused: 'The server no longer accepts this access token: it expired, or was deleted or rotated.',
  'signed-out': 'You are signed out.',
};

const WAYS = [
  { value: 'admin', label: 'Admin password' },
  { value: 'token', label: 'Access token' },
] as const;

/** The page of a server with authentication, to who has not signed in. */
export function Login({ version }: { version: string | undefined }) {
  const why = ending.value;
  return (
    <main class="login">
      <div class="card">
        <Mark />
        <h1>Sign in to KithDB</h1>
        {why !== undefined && <Notice kind="plain">{ENDINGS[why]}</Notice>}
        <SignInForm />
        <p class="hint">
          The credential stays in the memory of this tab: closing or reloading it signs you out.
          {version !== undefined && ` Server version ${version}.`}
        </p>
      </div>
    </main>
  );
}

const LOST_PASSWORD =
  'Try again. A lost password is replaced by kithdb admin reset-password, on the machine of the server.';
const BAD_TOKEN = 'Check that the whole token was pasted, and that it was neither deleted nor rotated.';

export function SignInForm({ adminOnly = false }: { adminOnly?: boolean }) {
  const [way, setWay] = useState<'admin' | 'token'>('admin');
  const [secret, setSecret] = useState('');
  const isAdmin = adminOnly || way === 'admin';
  const signingIn = useAction(async () => {
    await (isAdmin ? signInAsAdmin(secret) : signInWithToken(secret));
  });
  return (
    <Form submit={signingIn.run} label="Sign in">
      {!adminOnly && (
        <Segments
          label="How to sign in"
          value={way}
          choices={WAYS}
          change={(value) => {
            setWay(value as 'admin' | 'token');
            setSecret('');
            signingIn.forget();
          }}
        />
      )}
      <TextField
        key={way}
        label={isAdmin ? 'Password of the admin' : 'Access token'}
        type="password"
        required
        autofocus={!adminOnly}
        autocomplete={isAdmin ? 'current-password' : 'off'}
        value={secret}
        change={setSecret}
        {...(!isAdmin && { placeholder: 'kith_…' })}
      />
      <Failure error={signingIn.error} refused={isAdmin ? LOST_PASSWORD : BAD_TOKEN} />
      <button type="submit" class="primary wide" disabled={signingIn.isRunning}>
        {signingIn.isRunning ? 'Signing in …' : 'Sign in'}
      </button>
    </Form>
  );
}
