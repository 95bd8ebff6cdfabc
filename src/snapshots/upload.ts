import type { BusboyInstance } from '@fastify/busboy';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { bodyTimeout, unsupportedBody } from '../http/errors';
import type { ServiceCall } from '../http/service-route';
import { malformed, SnapshotRefusal } from './failure';

/** The part of the form that is the snapshot. */
const PART = 'snapshot';
/** An upload of which nothing arrives for so long is given up. */
const SILENCE_MS = 60_000;
const LIMITS = { files: 1, fields: 8, parts: 9, fieldSize: 1024, fieldNameSize: 100, headerPairs: 32 };

/**
 * Reads a form (multipart/form-data) and calls `take` with the file in it, as it arrives. Resolves when `take` has and all
 * of the form has arrived.
 * @throws SnapshotRefusal for a body that is no such form, or has no file.
 */
export async function readUpload(call: ServiceCall, take: (file: Readable) => Promise<void>): Promise<void> {
  const { request } = call;
  const form = await formOf(request);
  let file: Readable | undefined;
  let stopWatching: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      let taken: Promise<void> | undefined;
      form.on('file', (name, content) => {
        if (name !== PART || taken !== undefined) {
          content.resume();
          return;
        }
        file = content;
        // A file whose form is cut off has an error of its own, which `take` reports.
        content.on('error', () => undefined);
        taken = take(content);
        taken.catch(reject);
      });
      form.on('error', () => {
        reject(malformed('The body is not a whole form'));
      });
      form.on('finish', () => {
        if (taken === undefined) {
          reject(malformed(`The form has no file ${PART}`));
        } else {
          taken.then(resolve, reject);
        }
      });
      stopWatching = whenSilent(request, () => {
        reject(new SnapshotRefusal(bodyTimeout()));
      });
      call.signal.addEventListener('abort', () => {
        reject(new Error('the client has disconnected'));
      });
      call.wantBody();
      request.pipe(form);
    });
  } finally {
    stopWatching?.();
    // The connection stays, so that the client gets the answer.
    request.unpipe(form);
    file?.destroy();
  }
}

/** A reader of the form of a request. @throws SnapshotRefusal */
async function formOf(request: IncomingMessage): Promise<BusboyInstance> {
  const { Busboy: Form } = await import('@fastify/busboy');
  const type = request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(type)) {
    throw new SnapshotRefusal(
      unsupportedBody('Unsupported content type: the body must be multipart/form-data'),
    );
  }
  try {
    return new Form({ headers: { ...request.headers, 'content-type': type }, limits: LIMITS });
  } catch {
    throw malformed('The body is no form: its content type has no boundary');
  }
}

/** Calls back when nothing has arrived for a while; gives what ends that. */
function whenSilent(request: IncomingMessage, callback: () => void): () => void {
  let arrived = request.socket.bytesRead;
  const look = setInterval(() => {
    if (request.complete) return;
    // What waits for the disk of the server is not read meanwhile.
    if (request.socket.bytesRead === arrived && !request.isPaused()) callback();
    arrived = request.socket.bytesRead;
  }, SILENCE_MS).unref();
  return () => {
    clearInterval(look);
  };
}
