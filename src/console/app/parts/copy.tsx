import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 2000;

/** Puts a text into the clipboard, and says that it did. */
export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle');
  useEffect(() => {
    if (state === 'idle') return undefined;
    const timer = setTimeout(() => {
      setState('idle');
    }, SHOWN_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [state]);
  const copy = (): void => {
    toClipboard(typeof text === 'string' ? text : text()).then(
      () => {
        setState('copied');
      },
      () => {
        setState('refused');
      },
    );
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      <span aria-live="polite">
        {state === 'idle' ? label : state === 'copied' ? 'Copied' : 'Select the text and copy it'}
      </span>
    </button>
  );
}

/** Over plain HTTP from another machine browsers give pages no clipboard; a selection can still be copied. */
async function toClipboard(text: string): Promise<void> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement('textarea');
  area.value = text;
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is nothing else on such pages
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error('refused');
}
