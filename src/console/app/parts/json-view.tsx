import { pretty } from '../service/exact-json';

/** Longer texts are shown without colours: each coloured part is an element of the page. */
const COLOURED_CHARACTERS = 60_000;

/** A key, a string, a number, or a word of JSON. */
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g;

/** A value as coloured JSON. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  return <CodeView text={pretty(value)} label={label} isJson />;
}

/** A text in a fixed pitch that scrolls by itself; the keyboard reaches it. */
export function CodeView({ text, label, isJson = false }: { text: string; label: string; isJson?: boolean }) {
  return (
    <pre class="code" role="region" tabIndex={0} aria-label={label}>
      <code>{isJson && text.length <= COLOURED_CHARACTERS ? coloured(text) : text}</code>
    </pre>
  );
}

function coloured(text: string) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(TOKENS)) {
    const [token, quoted, colon] = match;
    if (match.index > from) parts.push(text.slice(from, match.index));
    const kind =
      quoted === undefined ? (/^[tfn]/.test(token) ? 'j-word' : 'j-number') : colon ? 'j-key' : 'j-text';
    parts.push(
      <span class={kind} key={match.index}>
        {quoted ?? token}
      </span>,
    );
    if (colon !== undefined) parts.push(colon);
    from = match.index + token.length;
  }
  parts.push(text.slice(from));
  return parts;
}
