/** A request as text that can be copied: in HTTP, and in languages. A credential is never in it. */
import { compact, pretty } from '../service/exact-json';
import { BASE, type RequestLine } from '../service/request';
import { authEnabled } from '../service/session';

export type Language = 'json' | 'curl' | 'js' | 'python';

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
    ...(body === undefined ? [] : [`  body: ${javaScriptBody(body)},`]),
  ];
  const options = lines.length === 0 ? '' : `, {\n${lines.join('\n')}\n}`;
  return `const response = await fetch(${JSON.stringify(`${BASE}${path}`)}${options});\nconsole.log(await response.json());`;
}

/** A body as the value of an expression, or as its JSON in quotes where the expression would have another value. */
function javaScriptBody(body: unknown): string {
  const json = compact(body);
  if (isJavaScript(json)) return `JSON.stringify(${indented(pretty(body), '  ')})`;
  return `'${json.replaceAll(/[\\']/g, '\\$&')}'`;
}

/**
 * Whether JSON is the same when JavaScript has read it: it rounds long integers, and writes `1.0` as `1`. The key `__proto__` of
 * an expression is no property.
 */
function isJavaScript(json: string): boolean {
  return JSON.stringify(JSON.parse(json)) === json && !json.includes('"__proto__"');
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
