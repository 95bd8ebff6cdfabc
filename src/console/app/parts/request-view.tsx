import { useState } from 'preact/hooks';
import { compact, pretty } from '../service/exact-json';
import { BASE, type RequestLine } from '../service/request';
import { authEnabled } from '../service/session';
import { CopyButton } from './copy';
import { Segments } from './form';
import { CodeView } from './json-view';

const LANGUAGES = [
  { value: 'json', label: 'HTTP' },
  { value: 'curl', label: 'curl' },
  { value: 'js', label: 'JavaScript' },
  { value: 'python', label: 'Python' },
] as const;

type Language = (typeof LANGUAGES)[number]['value'];

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

/** A request in a language. */
export function writeRequest(request: RequestLine, language: Language): string {
  switch (language) {
    case 'json':
      return asHttp(request);
    case 'curl':
      return asCurl(request);
    case 'js':
      return asJavaScript(request);
    case 'python':
      return asPython(request);
  }
}

function asHttp({ method, path, body }: RequestLine): string {
  return `${method} ${path}${body === undefined ? '' : `\n\n${pretty(body)}`}`;
}

function asCurl({ method, path, body }: RequestLine): string {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${shellQuoted(`${BASE}${path}`)}`];
  if (authEnabled.value === true) lines.push('-H "Authorization: Bearer $KITHDB_TOKEN"');
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'", `-d ${shellQuoted(compact(body))}`);
  }
  return lines.join(' \\\n  ');
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function asJavaScript({ method, path, body }: RequestLine): string {
  const headers = [
    ...(authEnabled.value === true ? ['Authorization: `Bearer ${process.env.KITHDB_TOKEN}`'] : []),
    ...(body === undefined ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const lines = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(pretty(body), '  ')}),`]),
  ];
  const options = lines.length === 0 ? '' : `, {\n${lines.join('\n')}\n}`;
  return `const response = await fetch(${JSON.stringify(`${BASE}${path}`)}${options});\nconsole.log(await response.json());`;
}

/** JSON as a literal of Python: its three words are written otherwise. */
const WORDS: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

function asPython({ method, path, body }: RequestLine): string {
  const isSecured = authEnabled.value === true;
  const literal = pretty(body ?? null).replaceAll(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (token) => WORDS[token] ?? token,
  );
  const lines = [
    `    "${method}",`,
    `    ${JSON.stringify(`${BASE}${path}`)},`,
    ...(isSecured ? ['    headers={"Authorization": f"Bearer {os.environ[\'KITHDB_TOKEN\']}"},'] : []),
    ...(body === undefined ? [] : [`    json=${indented(literal, '    ')},`]),
  ];
  const imports = isSecured ? 'import os\n\nimport requests' : 'import requests';
  return `${imports}\n\nresponse = requests.request(\n${lines.join('\n')}\n)\nprint(response.json())`;
}

function indented(text: string, by: string): string {
  return text.replaceAll('\n', `\n${by}`);
}
