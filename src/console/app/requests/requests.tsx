import { useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy';
import { Form, SelectField, TextField } from '../parts/form';
import { CodeView } from '../parts/json-view';
import { readJson } from '../parts/json-field';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { compact, pretty } from '../service/exact-json';
import { bytes, milliseconds } from '../service/format';
import { useAction, useLoading } from '../service/loading';
import type { Method, RawAnswer } from '../service/request';
import { BodyField } from './body-field';
import { readDescription, type Description, type Endpoint } from './description';
import { history, type Sent } from './history';
import { sendDraft, sentPath, type Draft } from './sending';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((value) => ({ value, label: value }));

/** Any request, with completion from the description of the interface. */
export function RequestsPage() {
  const description = useLoading(readDescription, []);
  const [draft, setDraft] = useState<Draft>({ method: 'GET', path: '/collections', body: '' });
  const [answer, setAnswer] = useState<RawAnswer>();
  const endpoint = description.value?.find(draft.method, draft.path);
  const { value, problem } = readJson(draft.body);
  const hasBody = draft.method !== 'GET' && draft.body.trim() !== '';
  const sending = useAction(async () => {
    setAnswer(await sendDraft(draft, hasBody ? compact(value) : undefined));
  });
  return (
    <>
      <header class="page-head">
        <h1>Requests</h1>
      </header>
      <Failure error={description.error} retry={description.reload} />
      <Form submit={sending.run} label="Request">
        <Line draft={draft} setDraft={setDraft} description={description.value} />
        {endpoint !== undefined && <p class="hint">{endpoint.summary}.</p>}
        {draft.method !== 'GET' && (
          <BodyField
            text={draft.body}
            problem={problem}
            endpoint={endpoint}
            description={description.value}
            change={(body) => {
              setDraft({ ...draft, body });
            }}
          />
        )}
        <Failure error={sending.error} />
        <div class="form-end">
          <button
            type="submit"
            class="primary"
            disabled={!draft.path.startsWith('/') || (hasBody && problem !== undefined) || sending.isRunning}
          >
            {sending.isRunning ? 'Sending …' : 'Send'}
          </button>
          {!draft.path.startsWith('/') && <p class="hint">A path begins with a slash.</p>}
        </div>
      </Form>
      <RequestView
        request={{ method: draft.method, path: sentPath(draft.path), body: hasBody ? value : undefined }}
      />
      {answer !== undefined && <AnswerView answer={answer} />}
      <History open={setDraft} />
    </>
  );
}

interface LineProps {
  readonly draft: Draft;
  readonly setDraft: (draft: Draft) => void;
  readonly description: Description | undefined;
}

/** Method and path. An endpoint that is chosen brings its method, and a body with what it must have. */
function Line({ draft, setDraft, description }: LineProps) {
  const endpoints = description?.endpoints ?? [];
  const choose = (key: string): void => {
    const found = endpoints.find((endpoint) => keyOf(endpoint) === key);
    if (found === undefined || description === undefined) return;
    const body = found.body === undefined ? '' : pretty(description.skeleton(found));
    setDraft({ method: found.method, path: found.path, body });
  };
  return (
    <div class="columns request-line">
      <SelectField
        label="Endpoint"
        value=""
        choices={[
          { value: '', label: 'Choose …' },
          ...endpoints.map((endpoint) => ({
            value: keyOf(endpoint),
            label: `${endpoint.method} ${endpoint.path}`,
          })),
        ]}
        change={choose}
      />
      <SelectField
        label="Method"
        value={draft.method}
        choices={METHODS}
        change={(method) => {
          setDraft({ ...draft, method: method as Method });
        }}
      />
      <TextField
        label="Path"
        mono
        required
        value={draft.path}
        choices={[...new Set(endpoints.map(({ path }) => path))]}
        change={(path) => {
          setDraft({ ...draft, path });
        }}
      />
    </div>
  );
}

function keyOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

/** Longer answers are shown in part; a copy has all. */
const SHOWN_CHARACTERS = 200_000;

function AnswerView({ answer }: { answer: RawAnswer }) {
  const { value } = readJson(answer.text);
  const text = value === undefined ? answer.text : pretty(value);
  const isLong = text.length > SHOWN_CHARACTERS;
  return (
    <section>
      <div class="row spread">
        <h2>Answer</h2>
        <p class="hint" role="status">
          <span class={`tag ${answer.status < 400 ? 'good' : 'bad'}`}>{answer.status}</span>{' '}
          {milliseconds(answer.ms)}, {bytes(answer.text.length)} <CopyButton text={text} />
        </p>
      </div>
      <CodeView
        text={isLong ? `${text.slice(0, SHOWN_CHARACTERS)}\n… cut here: a copy has all of it` : text}
        label="Answer"
        isJson={value !== undefined}
      />
    </section>
  );
}

function History({ open }: { open: (draft: Draft) => void }) {
  if (history.value.length === 0) return null;
  return (
    <section>
      <h2>Sent</h2>
      <p class="hint">In the memory of this tab. A row brings the request back.</p>
      <div class="table-frame short" tabIndex={0} role="region" aria-label="Requests that were sent">
        <table>
          <tbody>
            {history.value.map((sent) => (
              <HistoryRow key={sent.key} sent={sent} open={open} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function HistoryRow({ sent, open }: { sent: Sent; open: (draft: Draft) => void }) {
  const { method, path, body, status, ms } = sent;
  return (
    <tr>
      <td class="wide">
        <button
          type="button"
          class="quiet mono"
          onClick={() => {
            open({ method, path, body });
          }}
        >
          {method} {path}
        </button>
      </td>
      <td class="number">
        <span class={`tag ${status < 400 ? 'good' : 'bad'}`}>{status}</span>
      </td>
      <td class="number">{milliseconds(ms)}</td>
    </tr>
  );
}
