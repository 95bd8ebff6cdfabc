import { useState } from 'preact/hooks';
import type { Choice } from '../parts/choice';
import { AreaField, Form, SelectField, SwitchField, TextField } from '../parts/form';
import { objectProblem, useJsonText } from '../parts/json-field';
import { Failure, Notice } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import type { JsonObject } from '../service/exact-json';
import { useAction } from '../service/loading';
import { path, result } from '../service/request';
import { vectorFields, type CollectionInfo } from '../service/types';
import { TargetRecall } from '../search/target-recall';
import { QUANTIZATIONS } from './choices';
import type { CollectionPart } from './collection';
import { presentOfGraphs, presentQuantizations } from './present-settings';
import { changeOf, NOTHING, type SettingsDraft } from './settings-draft';

const DIFFER = 'The vectors differ in it; a change is for all of them.';

/** The choice that changes nothing, and what the vectors have. */
function unchanged(info: CollectionInfo): Choice {
  const present = presentQuantizations(info);
  const about = `Of all dense vectors. It is ${present.join(' or ')}. Another one makes codes and graphs anew in the background, while searches go on.`;
  return { value: '', label: 'As it is', about: present.length > 1 ? `${about} ${DIFFER}` : about };
}

/** Changes settings of a collection; what is not named stays. */
export function ChangeSettings({ name, info, reload }: CollectionPart) {
  const [draft, setDraft] = useState(NOTHING);
  const [isDone, setDone] = useState(false);
  const further = useJsonText(undefined);
  const problem = further.problem ?? objectProblem(further.value);
  const others = problem === undefined ? (further.value as JsonObject | undefined) : undefined;
  const body = changeOf(draft, others, vectorFields(info));
  const request = { method: 'PATCH', path: path('collections', name), body } as const;
  const isEmpty = Object.keys(body).length === 0;
  const changing = useAction(async () => {
    await result('PATCH', request.path, body);
    setDraft(NOTHING);
    further.setText('');
    setDone(true);
    reload();
  });
  const change = (over: Partial<SettingsDraft>): void => {
    setDone(false);
    setDraft({ ...draft, ...over });
  };
  return (
    <Form submit={changing.run} label="Change settings">
      <DefaultRecall draft={draft} info={info} change={change} />
      <div class="columns">
        <SelectField
          label="Quantization"
          value={draft.quantization}
          choices={[unchanged(info), ...QUANTIZATIONS]}
          change={(quantization) => {
            change({ quantization });
          }}
        />
        <GraphFields draft={draft} info={info} change={change} />
        <Expiry draft={draft} info={info} change={change} />
        <Residency draft={draft} info={info} change={change} />
      </div>
      <details class="more">
        <summary>Other settings as JSON</summary>
        <AreaField
          label="Other settings"
          rows={5}
          value={further.text}
          problem={problem}
          placeholder={'{ "optimizers_config": { "indexing_threshold": 20000 }, "expire_at_key": null }'}
          change={further.setText}
        />
      </details>
      {isDone && <Notice kind="good">The settings are changed.</Notice>}
      <Failure error={changing.error} />
      <button type="submit" class="primary" disabled={isEmpty || problem !== undefined || changing.isRunning}>
        Change settings
      </button>
      {!isEmpty && <RequestView request={request} />}
    </Form>
  );
}

function DefaultRecall({ draft, info, change }: GraphProps) {
  const present = info.config.hnsw_config['target_recall'];
  return (
    <>
      <TargetRecall
        label="Target recall of searches that do not say"
        none="As it is: none"
        given="As it is"
        hint="The server measures the recall, and chooses the width of walks for it in place of ef_search."
        value={draft.targetRecall}
        ofCollection={present}
        disabled={draft.hasNoTarget}
        change={(targetRecall) => {
          change({ targetRecall });
        }}
      />
      {typeof present === 'number' && (
        <SwitchField
          label="No target recall any more"
          hint="The width of walks is ef_search again."
          value={draft.hasNoTarget}
          change={(hasNoTarget) => {
            change({ hasNoTarget, targetRecall: '' });
          }}
        />
      )}
    </>
  );
}

const RESIDENCIES = [
  {
    value: 'auto',
    label: 'While it is used',
    about: 'Its memory is given back when nobody uses it; the next search opens it.',
  },
  { value: 'hot', label: 'Always', about: 'It stays in memory.' },
];

function Residency({ draft, info, change }: GraphProps) {
  const present = RESIDENCIES.find(({ value }) => value === info.residency?.setting);
  const about = `It is in memory ${present?.value === 'hot' ? 'always' : 'while it is used'}.`;
  return (
    <SelectField
      label="In memory"
      value={draft.residency}
      choices={[{ value: '', label: 'As it is', about }, ...RESIDENCIES]}
      change={(residency) => {
        change({ residency });
      }}
    />
  );
}

function Expiry({ draft, info, change }: GraphProps) {
  return (
    <TextField
      label="Field with the time of expiry"
      mono
      value={draft.expireAtKey}
      placeholder={info.expire_at_key ?? 'none'}
      hint="Points whose time has come are found by nothing, and removed."
      change={(expireAtKey) => {
        change({ expireAtKey });
      }}
    />
  );
}

interface GraphProps {
  readonly draft: SettingsDraft;
  readonly info: CollectionInfo;
  readonly change: (over: Partial<SettingsDraft>) => void;
}

function GraphFields({ draft, info, change }: GraphProps) {
  const present = (key: string, about: string) => {
    const values = presentOfGraphs(info, key);
    return { placeholder: values.join(' or '), hint: values.length > 1 ? `${about} ${DIFFER}` : about };
  };
  return (
    <>
      <TextField
        label="ef_search"
        type="number"
        min={1}
        value={draft.efSearch}
        {...present(
          'ef_search',
          'Candidates that a search keeps when it does not say. More find more, more slowly. A vector may have its own, which is not shown.',
        )}
        change={(efSearch) => {
          change({ efSearch });
        }}
      />
      <TextField
        label="m"
        type="number"
        min={0}
        max={512}
        value={draft.m}
        {...present('m', 'Links of a node. A change builds the graphs anew.')}
        change={(m) => {
          change({ m });
        }}
      />
      <TextField
        label="ef_construct"
        type="number"
        min={4}
        value={draft.efConstruct}
        {...present('ef_construct', 'Candidates kept while a node is inserted.')}
        change={(efConstruct) => {
          change({ efConstruct });
        }}
      />
    </>
  );
}
