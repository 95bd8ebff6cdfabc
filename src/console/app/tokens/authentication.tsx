import { useState } from 'preact/hooks';
import { SignInForm } from '../login/login';
import { ConfirmButton } from '../parts/confirm';
import { Form, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { useAction, useLoading } from '../service/loading';
import { result, send } from '../service/request';
import { authEnabled, credential } from '../service/session';

/** The state of authentication, and the next step to turn it on. */
export function Authentication() {
  const isOn = authEnabled.value === true;
  const isAdmin = credential.value?.kind === 'admin';
  if (isOn && !isAdmin) return null;
  return (
    <section>
      <h2>Authentication</h2>
      {isOn ? (
        <p>It is on: every request for data needs the sign-in of the admin or an access token.</p>
      ) : (
        <p>
          It is off. Once it is on, every request for data needs the sign-in of the admin or an access token,
          so make a token for each program first or directly afterwards.
        </p>
      )}
      {isAdmin ? <Switch isOn={isOn} /> : <FirstSteps />}
    </section>
  );
}

function FirstSteps() {
  const exists = useLoading(
    (signal) => result<boolean>('GET', '/auth/admin/exists', undefined, { signal }),
    [],
  );
  if (exists.value === undefined) return <Failure error={exists.error} retry={exists.reload} />;
  return (
    <div class="card step">
      {exists.value ? (
        <>
          <h3>Sign in as the admin to go on</h3>
          <SignInForm adminOnly />
        </>
      ) : (
        <CreateAdmin created={exists.reload} />
      )}
    </div>
  );
}

function CreateAdmin({ created }: { created: () => void }) {
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const creating = useAction(async () => {
    await send('POST', '/auth/admin', { password });
    created();
  });
  return (
    <>
      <h3>Choose the password of the admin</h3>
      <p class="hint">The server accepts this only from a browser on its own machine.</p>
      <Form submit={creating.run} label="Create the admin">
        <TextField
          label="Password"
          type="password"
          required
          autocomplete="new-password"
          value={password}
          hint="At least 12 characters, with an upper-case and a lower-case letter, a digit and a special character."
          change={setPassword}
        />
        <TextField
          label="The same again"
          type="password"
          required
          autocomplete="new-password"
          value={again}
          change={setAgain}
        />
        <Failure error={creating.error} />
        <button
          type="submit"
          class="primary"
          disabled={password === '' || password !== again || creating.isRunning}
        >
          Create the admin
        </button>
      </Form>
    </>
  );
}

function Switch({ isOn }: { isOn: boolean }) {
  const set = async (enabled: boolean): Promise<void> => {
    authEnabled.value = await result<boolean>('PATCH', '/auth/enabled', { enabled });
  };
  const turningOn = useAction(() => set(true));
  if (isOn) {
    return (
      <div class="row">
        <ConfirmButton
          label="Turn authentication off …"
          confirm="Let everybody in"
          keep="Leave it on"
          look="danger"
          work={() => set(false)}
        />
      </div>
    );
  }
  return (
    <>
      <Failure error={turningOn.error} />
      <button type="button" class="primary" disabled={turningOn.isRunning} onClick={turningOn.run}>
        Turn authentication on
      </button>
    </>
  );
}
