import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { linkTo, place } from './service/location';
import { useInterval } from './service/loading';
import { readAuthEnabled, send, sendRaw } from './service/request';
import { welcome } from './service/server';
import { authEnabled, credential, endSession, isUnreachable, needsSignIn } from './service/session';
import type { Welcome } from './service/types';
import { Login } from './login/login';
import { Page, SECTIONS } from './pages';
import { Failure, Waiting } from './parts/notice';
import { Mark } from './parts/mark';

const startFailure = signal<Error | undefined>(undefined);

/** How often the console looks whether a server that is gone is back. */
const RETRY_MS = 3000;

/** Requests the server's version, and finds out whether it requires credentials. */
async function meetServer(): Promise<void> {
  startFailure.value = undefined;
  try {
    welcome.value = (await send('GET', '/', undefined, { token: null })) as Welcome;
    await readAuthEnabled();
  } catch (error) {
    startFailure.value = error instanceof Error ? error : new Error(String(error));
  }
}

export function App() {
  useEffect(() => {
    void meetServer();
  }, []);
  useInterval(() => {
    if (!isUnreachable.value) return;
    if (authEnabled.value === undefined) void meetServer();
    else sendRaw('GET', '/livez', undefined, { token: null }).catch(() => undefined);
  }, RETRY_MS);
  if (authEnabled.value === undefined) return <Start />;
  if (needsSignIn.value) return <Login version={welcome.value?.kithdb_version} />;
  return (
    <Frame>
      <Page />
    </Frame>
  );
}

/** Before the server has answered. */
function Start() {
  return (
    <main class="start">
      <Mark />
      <h1>KithDB</h1>
      {startFailure.value === undefined ? (
        <Waiting what="the server" />
      ) : (
        <Failure error={startFailure.value} retry={() => void meetServer()} />
      )}
    </main>
  );
}

function Frame({ children }: { children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  const here = place.value.join('/');
  const isFirst = useRef(true);
  useEffect(() => {
    // Focus makes screen readers announce the new page; a reload or the first page leaves the focus where it is.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    window.scrollTo(0, 0);
  }, [here]);
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the page
      </a>
      <Bar />
      <div class="content">
        <Banners />
        <main ref={main} tabIndex={-1} id="main">
          {children}
        </main>
      </div>
    </div>
  );
}

function Bar() {
  const [section = 'collections'] = place.value;
  return (
    <header class="bar">
      <a class="brand" href={linkTo('collections')}>
        <Mark />
        <span>KithDB</span>
      </a>
      <nav aria-label="Pages">
        {SECTIONS.filter(({ label }) => label !== undefined).map(({ place: to, label }) => (
          <a key={to} href={linkTo(to)} aria-current={section === to ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <Who />
    </header>
  );
}

/** Who is signed in, and which server this is. */
function Who() {
  const held = credential.value;
  return (
    <div class="who">
      {held !== undefined && (
        <>
          <span>{held.kind === 'admin' ? 'Signed in as admin' : 'Signed in with a token'}</span>
          <button
            type="button"
            onClick={() => {
              endSession('signed-out');
            }}
          >
            Sign out
          </button>
        </>
      )}
      {welcome.value !== undefined && (
        <span class="version">
          Version {welcome.value.kithdb_version}
          {welcome.value.dialect === 'qdrant' ? ', dialect qdrant' : ''}
        </span>
      )}
    </div>
  );
}

/** What is true of every page. */
function Banners() {
  return (
    <aside aria-label="State of the server">
      {isUnreachable.value && (
        <p class="banner bad" role="alert">
          The server does not answer. The console tries again every few seconds; nothing that you see is newer
          than the last answer.
        </p>
      )}
      {authEnabled.value === false && (
        <p class="banner warn">
          Authentication is off: everybody who reaches this address can read and delete everything.{' '}
          <a href={linkTo('tokens')}>Turn it on</a>
        </p>
      )}
    </aside>
  );
}
