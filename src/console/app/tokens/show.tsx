import { CopyButton } from '../parts/copy';
import { Dialog } from '../parts/dialog';
import { CodeView } from '../parts/json-view';
import { Notice } from '../parts/notice';
import type { IssuedToken } from '../service/types';

/** The value of a new or rotated token. The server does not keep it, so it is shown this once. */
export function ShowToken({ token, close }: { token: IssuedToken; close: () => void }) {
  return (
    <Dialog title={`The value of ${token.name}`} close={close}>
      <div class="stack">
        <Notice kind="warn">
          Copy it now and keep it in a safe place: the server has only a digest, and nobody can see it again.
        </Notice>
        <CodeView text={token.token} label="Value of the token" />
        <div class="form-end">
          <CopyButton text={token.token} label="Copy the token" />
          <button type="button" class="primary" onClick={close}>
            I have it
          </button>
        </div>
      </div>
    </Dialog>
  );
}
