import { useEffect, useRef, useState } from 'preact/hooks';
import { ConfirmButton } from '../parts/confirm';
import { Failure, Notice } from '../parts/notice';
import { count, duration, plural } from '../service/format';
import { useInterval, useLoading } from '../service/loading';
import { RequestError, result } from '../service/request';
import { vectorFields } from '../service/types';
import type { CollectionPart } from './collection';
import { labelOf, placeOf, type Report } from './reembedding';
import { ReembeddingForm } from './reembedding-form';

/** How often the state is asked for. */
const POLL_MS = 1000;

/** The vectors that are embedded anew by another model (C19), and the form that begins it. */
export function Reembeddings({ name, info, reload }: CollectionPart) {
  const [begun, setBegun] = useState<string>();
  const [outcome, setOutcome] = useState<{ readonly vector: string; readonly text: string }>();
  // Those whose end this page has not told yet: the info of the collection may notice an end first.
  const untold = useRef(new Set<string>());
  const underWay = [...new Set([...Object.keys(info.reembeddings ?? {}), ...untold.current])];
  const others = vectorFields(info)
    .filter((field) => field.kind === 'dense' && !underWay.includes(field.name))
    .map((field) => field.name);
  return (
    <>
      {outcome !== undefined && !underWay.includes(outcome.vector) && <Outcome text={outcome.text} />}
      {underWay.map((vector) => (
        <UnderWay
          key={vector}
          name={name}
          vector={vector}
          isBegun={vector === begun}
          appeared={() => untold.current.add(vector)}
          ended={(text) => {
            untold.current.delete(vector);
            setOutcome({ vector, text });
            reload();
          }}
        />
      ))}
      {others.length > 0 && (
        <ReembeddingForm
          name={name}
          vectors={others}
          models={info.vector_models ?? {}}
          begun={(vector) => {
            setBegun(vector);
            reload();
          }}
        />
      )}
    </>
  );
}

/** What an end did. It takes the focus of the button that was pressed, which is gone. */
function Outcome({ text }: { text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) element.current?.focus({ preventScroll: true });
  }, [text]);
  return (
    <div ref={element} tabIndex={-1}>
      <Notice kind="good">{text}</Notice>
    </div>
  );
}

/** The latest report, also while the server does not answer; `gone` is called when there is none any more. */
function useReport(name: string, vector: string, gone: () => void) {
  const { value, error, refresh } = useLoading<Report>(
    (signal) => result('GET', placeOf(name, vector), undefined, { signal }),
    [name, vector],
  );
  useInterval(refresh, POLL_MS);
  const latest = useRef<Report | undefined>(undefined);
  if (value !== undefined) latest.current = value;
  const isGone = error instanceof RequestError && error.status === 404;
  useEffect(() => {
    if (isGone) gone();
  }, [isGone]);
  return { report: latest.current, error: isGone ? undefined : error };
}

/** Tells an end that was asked for here from one elsewhere: the report may be gone before the request is answered. */
interface Ending {
  /** The work of a button that ends it. */
  readonly by: (work: () => Promise<void>) => () => Promise<void>;
  /** There is no report any more. */
  readonly gone: () => void;
}

function useEnding(endedElsewhere: () => void): Ending {
  const isAsked = useRef(false);
  const isGone = useRef(false);
  return {
    by: (work) => async () => {
      isAsked.current = true;
      try {
        await work();
      } catch (error) {
        if (isGone.current) endedElsewhere();
        throw error;
      } finally {
        isAsked.current = false;
      }
    },
    gone: () => {
      isGone.current = true;
      if (!isAsked.current) endedElsewhere();
    },
  };
}

interface UnderWayProps {
  readonly name: string;
  readonly vector: string;
  /** It was begun here: its heading takes the focus from the form. */
  readonly isBegun: boolean;
  readonly appeared: () => void;
  /** It has ended; the text says how. */
  readonly ended: (text: string) => void;
}

function UnderWay({ name, vector, isBegun, appeared, ended }: UnderWayProps) {
  const label = labelOf(vector);
  useEffect(appeared, []);
  // The page shows it until the info of the collection is there again.
  const isEnded = useRef(false);
  const end = (text: string): void => {
    if (!isEnded.current) ended(text);
    isEnded.current = true;
  };
  const ending = useEnding(() => {
    end(`The re-embedding of ${label} was ended elsewhere.`);
  });
  const { report, error } = useReport(name, vector, ending.gone);
  const heading = useRef<HTMLHeadingElement>(null);
  const isThere = report !== undefined;
  useEffect(() => {
    if (isBegun && isThere) heading.current?.focus();
  }, [isThere]);
  if (report === undefined) return <Failure error={error} />;
  return (
    <section>
      <h3 ref={heading} tabIndex={-1}>
        Re-embedding of {label} by {report.model.name}
      </h3>
      <Progress label={label} report={report} />
      <Failure error={error} />
      <div class="row">
        {report.state === 'ready' && <Commit {...{ name, vector, report, end, ending }} />}
        <ConfirmButton
          label="Abort"
          full={`Abort the re-embedding of ${label}`}
          confirm="Drop the new vectors"
          keep="Go on"
          work={ending.by(async () => {
            await result('POST', placeOf(name, vector, 'abort'));
            end(`The re-embedding of ${label} is aborted. Its vectors are the old ones.`);
          })}
        />
      </div>
    </section>
  );
}

/** What a state means. It is said to a screen reader when it changes, unlike the counts. */
const STATES: Readonly<Record<Report['state'], string>> = {
  waiting: 'Waiting for the server to take it up.',
  running:
    'Texts are embedded in the background. Searches use the old vectors until you commit the new ones.',
  retrying: 'The model fails. It is asked again, at least once a minute, until it answers.',
  ready: 'Ready. Searches use the old vectors until you commit the new ones.',
};

function Progress({ label, report }: { label: string; report: Report }) {
  const { state, done, total, missing_texts: missing, eta_seconds: eta, rate, error, model } = report;
  const isReady = state === 'ready';
  return (
    <>
      <progress
        value={isReady ? 1 : done}
        max={isReady ? 1 : Math.max(total - missing, 1)}
        aria-label={`Embedded texts of ${label}`}
      />
      <p>
        {count(done)} of {plural(total, 'point')} embedded
        {state === 'running' && eta !== null && `, about ${duration(Math.max(eta, 1))} left`}
        {!isReady && rate !== undefined && `, at most ${plural(rate, 'text')} a second`}
      </p>
      <p class="hint" role="status">
        {STATES[state]}
      </p>
      {error !== undefined && (
        <div class="notice warn">
          <p>{error}</p>
        </div>
      )}
      {missing > 0 && (
        <div class="notice warn">
          <p>
            {missing === 1 ? '1 point has' : `${count(missing)} points have`} no text
            {model.text_key !== undefined && (
              <>
                {' '}
                at <code>{model.text_key}</code>
              </>
            )}
            , and will have no vector in {label} after the commit. On the page Points, a filter “is absent or
            empty” finds {missing === 1 ? 'it' : 'them'}. A text that is written now is embedded.
          </p>
        </div>
      )}
    </>
  );
}

interface CommitProps {
  readonly name: string;
  readonly vector: string;
  readonly report: Report;
  readonly end: (text: string) => void;
  readonly ending: Ending;
}

function Commit({ name, vector, report, end, ending }: CommitProps) {
  const { missing_texts: missing, model } = report;
  const label = labelOf(vector);
  return (
    <ConfirmButton
      label="Commit"
      full={`Commit the new vectors of ${label}`}
      confirm={
        missing === 0
          ? 'Replace the old vectors'
          : `Commit: ${plural(missing, 'point')} ${missing === 1 ? 'loses its' : 'lose their'} vector`
      }
      work={ending.by(async () => {
        await result('POST', placeOf(name, vector, 'commit'), { allow_missing: missing > 0 });
        end(`The vectors of ${label} are those of ${model.name} now. Queries must use this model too.`);
      })}
      look="primary"
    />
  );
}
