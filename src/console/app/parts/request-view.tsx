import { useState } from 'preact/hooks';
import type { RequestLine } from '../service/request';
import { CopyButton } from './copy';
import { Segments } from './form';
import { CodeView } from './json-view';
import { writeRequest, type Language } from './request-text';

const LANGUAGES: readonly { readonly value: Language; readonly label: string }[] = [
  { value: 'json', label: 'HTTP' },
  { value: 'curl', label: 'curl' },
  { value: 'js', label: 'JavaScript' },
  { value: 'python', label: 'Python' },
];

/** The request behind what a page does, to be copied. A credential is never in it: programs read theirs from outside. */
export function RequestView({ request, open = false }: { request: RequestLine; open?: boolean }) {
  const [language, setLanguage] = useState<Language>('json');
  const text = writeRequest(request, language);
  return (
    <details class="request" open={open}>
      <summary>Request</summary>
      <div class="row">
        <Segments
          label="Language"
          value={language}
          choices={LANGUAGES}
          change={(value) => {
            setLanguage(value as Language);
          }}
        />
        <CopyButton text={text} />
      </div>
      <CodeView text={text} label="Request" isJson={language === 'json'} />
    </details>
  );
}
