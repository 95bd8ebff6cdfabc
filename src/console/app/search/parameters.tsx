import { SwitchField, TextField } from '../parts/form';
import type { QueryPart } from './query-fields';

/** The parameters of a search, each with what it does. */
export function Parameters({ draft, change }: QueryPart) {
  const isChosen = draft.targetRecall !== '';
  return (
    <details class="more">
      <summary>Parameters</summary>
      <div class="columns">
        <TextField
          label="Offset"
          type="number"
          min={0}
          value={draft.offset}
          placeholder="0"
          hint="So many of the best are passed over."
          change={(offset) => {
            change({ offset });
          }}
        />
        <TextField
          label="Score threshold"
          type="number"
          step="any"
          value={draft.threshold}
          placeholder="none"
          hint="Only scores that are equal or better."
          change={(threshold) => {
            change({ threshold });
          }}
        />
        <TextField
          label="hnsw_ef"
          type="number"
          min={1}
          value={draft.ef}
          placeholder={isChosen ? 'chosen for the target recall' : 'of the collection'}
          hint="Candidates that the walk keeps. More find more, more slowly. A target recall chooses it."
          disabled={isChosen}
          change={(ef) => {
            change({ ef });
          }}
        />
        <TextField
          label="Oversampling"
          type="number"
          min={1}
          step="any"
          value={draft.oversampling}
          placeholder="of the server"
          hint="So many times the limit are ranked by their original vectors."
          change={(oversampling) => {
            change({ oversampling });
          }}
        />
        <Switches draft={draft} change={change} />
      </div>
    </details>
  );
}

function Switches({ draft, change }: QueryPart) {
  return (
    <>
      <SwitchField
        label="Exact"
        hint="Compares with every vector: slow, and the truth."
        value={draft.exact}
        change={(exact) => {
          change({ exact });
        }}
      />
      <SwitchField
        label="Indexed only"
        hint="Leaves out points that are not in the graph yet."
        value={draft.indexedOnly}
        change={(indexedOnly) => {
          change({ indexedOnly });
        }}
      />
      <SwitchField
        label="Ignore quantization"
        hint="Walks over the original vectors."
        value={draft.ignoreCodes}
        change={(ignoreCodes) => {
          change({ ignoreCodes });
        }}
      />
      <SwitchField
        label="Rescore"
        hint="Ranks the candidates by their original vectors."
        value={draft.rescore}
        change={(rescore) => {
          change({ rescore });
        }}
      />
      <SwitchField
        label="Explain"
        hint="Says what the search did and where its time went. It runs on one thread."
        value={draft.explain}
        change={(explain) => {
          change({ explain });
        }}
      />
      {draft.explain && (
        <TextField
          label="Why are these missing?"
          mono
          value={draft.why}
          placeholder={'7, doc 1, "a, b"'}
          hint="Ids of up to 100 points. It takes an exact search more."
          change={(why) => {
            change({ why });
          }}
        />
      )}
    </>
  );
}
