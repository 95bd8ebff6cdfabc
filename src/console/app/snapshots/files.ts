/** Snapshots as files: saved to the user's disk, and sent from it. */
import { BASE, failureOf, noteRefusal, path, RequestError, sendRaw } from '../service/request';
import { credential } from '../service/session';

/** Saves a snapshot under its name. @throws RequestError as the server refuses it. */
export async function saveSnapshot(of: string, name: string): Promise<void> {
  const token = credential.value?.token;
  const response = await fetch(`${BASE}${of}${path(name)}`, {
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    credentials: 'omit',
    redirect: 'error',
    cache: 'no-store',
  }).catch(() => {
    throw new RequestError('The server did not answer', 0);
  });
  if (!response.ok) {
    noteRefusal(response.status, undefined);
    throw failureOf({
      status: response.status,
      text: await response.text(),
      headers: response.headers,
      ms: 0,
    });
  }
  // The browser keeps a large blob on its disk.
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The server has the whole file. Once it replaces the collection, nothing ends that. */
const STOPPED_LATE = 'Stopped waiting. The server may still replace the collection.';

/**
 * Sends a file, from which a collection is made or replaced. `fetch` does not say how much was sent, so that this is the
 * older way. @throws RequestError as the server refuses it, Error where it was stopped.
 */
export function sendSnapshot(
  collection: string,
  file: File,
  signal: AbortSignal,
  sent: (bytes: number) => void,
): Promise<void> {
  const form = new FormData();
  form.append('snapshot', file);
  const request = new XMLHttpRequest();
  request.open('POST', `${BASE}${path('collections', collection, 'snapshots', 'upload')}`);
  const token = credential.value?.token;
  if (token !== undefined) request.setRequestHeader('Authorization', `Bearer ${token}`);
  request.upload.onprogress = ({ loaded }) => {
    sent(Math.min(loaded, file.size));
  };
  let isSent = false;
  request.upload.onload = () => {
    isSent = true;
  };
  const done = new Promise<void>((resolve, reject) => {
    request.onload = () => {
      if (request.status === 200) {
        resolve();
        return;
      }
      noteRefusal(request.status, undefined);
      reject(
        failureOf({ status: request.status, text: request.responseText, headers: new Headers(), ms: 0 }),
      );
    };
    request.onerror = () => {
      reject(new RequestError('The server did not answer, or ended the connection', 0));
    };
    request.onabort = () => {
      reject(new Error(isSent ? STOPPED_LATE : 'Stopped. Nothing has changed.'));
    };
  });
  signal.addEventListener('abort', () => {
    request.abort();
  });
  request.send(form);
  return done;
}

/** Recovers from a snapshot that the server lists. */
export async function recoverFrom(of: string, name: string): Promise<void> {
  const answer = await sendRaw('PUT', `${of}/recover`, JSON.stringify({ location: name }));
  if (answer.status !== 200) {
    noteRefusal(answer.status, undefined);
    throw failureOf(answer);
  }
}
