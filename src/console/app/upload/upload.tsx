import { useRef, useState } from 'preact/hooks';
import type { CollectionPart } from '../collections/collection';
import { Failure, Notice } from '../parts/notice';
import { SelectField, SwitchField, TextField } from '../parts/form';
import { bytes, count, plural } from '../service/format';
import { asError } from '../service/loading';
import { linkTo } from '../service/location';
import { fieldLabel, vectorFields } from '../service/types';
import { defaultMapping, TEXT_MODEL, toPoint, type Mapping, type PointRow } from './mapping';
import { formatOf, rowsOf, type FileFormat } from './rows';
import { upload, type Problem } from './uploading';

interface Progress {
  readonly state: 'running' | 'done' | 'stopped';
  readonly read: number;
  readonly stored: number;
  readonly problems: readonly Problem[];
  readonly error: Error | undefined;
}

const START: Progress = { state: 'running', read: 0, stored: 0, problems: [], error: undefined };

/** Makes points of the rows of a file. */
export function UploadPage({ name, info, reload }: CollectionPart) {
  const [file, setFile] = useState<File>();
  const [format, setFormat] = useState<FileFormat>('jsonl');
  const [mapping, setMapping] = useState<Mapping>(() => defaultMapping(info, true));
  const { progress, start, stop } = useUpload({ name, info, reload }, file, format, mapping);
  const choose = (chosen: File | undefined): void => {
    setFile(chosen);
    if (chosen === undefined) return;
    const found = formatOf(chosen.name);
    setFormat(found);
    setMapping({ ...mapping, isPoint: found === 'jsonl' });
  };
  const isRunning = progress?.state === 'running';
  return (
    <div class="narrow">
      <section>
        <h2>Upload points</h2>
        <div class="field">
          <label for="upload-file">A JSONL or CSV file</label>
          <input
            id="upload-file"
            type="file"
            accept=".jsonl,.ndjson,.json,.csv"
            disabled={isRunning}
            aria-describedby="upload-hint"
            onChange={(event) => {
              choose(event.currentTarget.files?.[0]);
            }}
          />
          <p class="hint" id="upload-hint">
            It is read and sent in parts, so it may be larger than memory. Points with an id that is there are
            replaced.
          </p>
        </div>
        {file !== undefined && (
          <MappingFields
            info={info}
            format={format}
            setFormat={setFormat}
            mapping={mapping}
            setMapping={setMapping}
          />
        )}
        <div class="form-end">
          <button type="button" class="primary" disabled={file === undefined || isRunning} onClick={start}>
            Upload
          </button>
          {isRunning && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
        </div>
      </section>
      {progress !== undefined && file !== undefined && (
        <ProgressView name={name} progress={progress} size={file.size} />
      )}
    </div>
  );
}

function useUpload(
  { name, info, reload }: CollectionPart,
  file: File | undefined,
  format: FileFormat,
  mapping: Mapping,
) {
  const [progress, setProgress] = useState<Progress>();
  const abort = useRef<AbortController | undefined>(undefined);
  const run = async (of: File): Promise<void> => {
    const stopper = new AbortController();
    abort.current = stopper;
    let now = START;
    const set = (over: Partial<Progress>): void => {
      now = { ...now, ...over };
      setProgress(now);
    };
    set({});
    const fields = vectorFields(info);
    const read = (): AsyncIterable<PointRow> => {
      const rows = rowsOf(of, format, (done) => {
        set({ read: done });
      });
      return mapped(rows, (row) => toPoint(row, mapping, fields));
    };
    const report = {
      stored: (points: number) => {
        set({ stored: now.stored + points });
      },
      refused: (problem: Problem) => {
        // A batch is refused after the lines behind it are read.
        set({ problems: [...now.problems, problem].sort((a, b) => a.line - b.line) });
      },
    };
    try {
      await upload(name, read(), report, stopper.signal);
      set({ state: 'done', read: of.size });
    } catch (error) {
      set({ state: 'stopped', error: stopper.signal.aborted ? undefined : asError(error) });
    }
    reload();
  };
  return {
    progress,
    start: () => {
      if (file !== undefined) void run(file);
    },
    stop: () => {
      abort.current?.abort();
    },
  };
}

async function* mapped<A, B>(source: AsyncIterable<A>, map: (value: A) => B): AsyncGenerator<B, void> {
  for await (const value of source) yield map(value);
}

interface MappingProps {
  readonly info: CollectionPart['info'];
  readonly format: FileFormat;
  readonly setFormat: (format: FileFormat) => void;
  readonly mapping: Mapping;
  readonly setMapping: (mapping: Mapping) => void;
}

const FORMATS = [
  { value: 'jsonl', label: 'JSONL', about: 'A JSON object in each line.' },
  { value: 'csv', label: 'CSV', about: 'Records below a line of column names.' },
];

function MappingFields({ info, format, setFormat, mapping, setMapping }: MappingProps) {
  return (
    <>
      <div class="columns">
        <SelectField
          label="Format"
          value={format}
          choices={FORMATS}
          change={(value) => {
            setFormat(value as FileFormat);
            setMapping({ ...mapping, isPoint: value === 'jsonl' });
          }}
        />
        {format === 'jsonl' && (
          <SwitchField
            label="Each line is a point"
            hint="With id, vector and payload, as an upsert takes it and an export writes it. Otherwise its fields are columns."
            value={mapping.isPoint}
            change={(isPoint) => {
              setMapping({ ...mapping, isPoint });
            }}
          />
        )}
      </div>
      {!mapping.isPoint && <ColumnFields info={info} mapping={mapping} setMapping={setMapping} />}
    </>
  );
}

function ColumnFields({ info, mapping, setMapping }: Pick<MappingProps, 'info' | 'mapping' | 'setMapping'>) {
  return (
    <fieldset class="card">
      <legend>Columns</legend>
      <div class="columns">
        <TextField
          label="Id"
          mono
          value={mapping.id}
          hint="Empty for the number of the row, from 0."
          change={(id) => {
            setMapping({ ...mapping, id });
          }}
        />
        {vectorFields(info).map((field) => (
          <div key={field.name} class="stack">
            <TextField
              label={`Vector ${fieldLabel(field)}`}
              mono
              value={mapping.vectors[field.name] ?? ''}
              hint="Empty for none."
              change={(column) => {
                setMapping({ ...mapping, vectors: { ...mapping.vectors, [field.name]: column } });
              }}
            />
            {field.kind === 'sparse' && (
              <SwitchField
                label={`A text, made a vector by ${TEXT_MODEL}`}
                value={mapping.texts[field.name] === true}
                change={(isText) => {
                  setMapping({ ...mapping, texts: { ...mapping.texts, [field.name]: isText } });
                }}
              />
            )}
          </div>
        ))}
      </div>
      <p class="hint">All other columns become the payload.</p>
    </fieldset>
  );
}

interface ProgressProps {
  readonly name: string;
  readonly progress: Progress;
  readonly size: number;
}

function ProgressView({ name, progress, size }: ProgressProps) {
  const { state, read, stored, problems, error } = progress;
  return (
    <section aria-label="Progress">
      <div class="field">
        <label for="upload-progress">
          {bytes(read)} of {bytes(size)} read, {plural(stored, 'point')} stored
        </label>
        <progress id="upload-progress" max={Math.max(size, 1)} value={read} />
      </div>
      <Failure error={error} />
      {state === 'done' && (
        <Notice kind={problems.length === 0 ? 'good' : 'warn'}>
          <p>
            {plural(stored, 'point')} stored
            {problems.length === 0 ? '.' : `, ${plural(problems.length, 'line')} left out.`}
          </p>
          <a href={linkTo('collections', name, 'points')}>To the points</a>
        </Notice>
      )}
      {state === 'stopped' && error === undefined && (
        <Notice kind="warn">Stopped. What was stored stays: sending the file again replaces it.</Notice>
      )}
      {problems.length > 0 && (
        <div class="table-frame short" tabIndex={0} role="region" aria-label="Refused rows">
          <table>
            <thead>
              <tr>
                <th scope="col" class="number">
                  Line
                </th>
                <th scope="col">What is wrong</th>
              </tr>
            </thead>
            <tbody>
              {problems.map(({ line, message }) => (
                <tr key={line}>
                  <td class="number">{count(line)}</td>
                  <td>{message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
