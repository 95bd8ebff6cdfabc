import { SelectField, TextField } from '../parts/form';
import { DATATYPES, DISTANCES, KINDS, MODIFIERS, ON_DISK, QUANTIZATIONS } from './choices';
import type { VectorDraft } from './draft';

interface Props {
  readonly vector: VectorDraft;
  readonly position: number;
  readonly change: (over: Partial<VectorDraft>) => void;
  readonly remove: (() => void) | undefined;
  /** For a collection that is there: it needs a name, and settings of its index are those of the collection. */
  readonly isAdded?: boolean;
}

/** The choices for one vector of a new collection. */
export function VectorFields({ vector, position, change, remove, isAdded = false }: Props) {
  const isSparse = vector.kind === 'sparse';
  return (
    <fieldset class="card">
      <legend>{vector.name !== '' ? vector.name : isAdded ? 'New vector' : `Vector ${position}`}</legend>
      <div class="columns">
        <TextField
          label="Name"
          value={vector.name}
          hint={isSparse || isAdded ? undefined : 'Empty for a collection with one dense vector.'}
          required={isAdded}
          change={(name) => {
            change({ name });
          }}
        />
        <SelectField
          label="Kind"
          value={vector.kind}
          choices={KINDS}
          change={(kind) => {
            change({ kind });
          }}
        />
        {isSparse ? (
          <SelectField
            label="Modifier"
            value={vector.modifier}
            choices={MODIFIERS}
            change={(modifier) => {
              change({ modifier });
            }}
          />
        ) : (
          <Shape vector={vector} change={change} isAdded={isAdded} />
        )}
      </div>
      {!isSparse && !isAdded && <Advanced vector={vector} change={change} />}
      {remove !== undefined && (
        <button type="button" class="quiet danger" onClick={remove}>
          Remove this vector
        </button>
      )}
    </fieldset>
  );
}

type Part = Pick<Props, 'vector' | 'change'>;

function Shape({ vector, change, isAdded }: Part & { isAdded: boolean }) {
  return (
    <>
      <TextField
        label="Size"
        type="number"
        min={1}
        max={65536}
        required
        value={vector.size}
        hint="Components of a vector, as the model makes them: 384, 768, 1024, 1536 …"
        change={(size) => {
          change({ size });
        }}
      />
      <SelectField
        label="Distance"
        value={vector.distance}
        choices={DISTANCES}
        change={(distance) => {
          change({ distance });
        }}
      />
      {isAdded ? (
        <StoredAs vector={vector} change={change} />
      ) : (
        <SelectField
          label="Quantization"
          value={vector.quantization}
          choices={QUANTIZATIONS}
          change={(quantization) => {
            change({ quantization });
          }}
        />
      )}
    </>
  );
}

function StoredAs({ vector, change }: Part) {
  return (
    <SelectField
      label="Stored as"
      value={vector.datatype}
      choices={DATATYPES}
      change={(datatype) => {
        change({ datatype });
      }}
    />
  );
}

function Advanced({ vector, change }: Part) {
  return (
    <details class="more">
      <summary>Storage and graph</summary>
      <div class="columns">
        <StoredAs vector={vector} change={change} />
        <SelectField
          label="Place of the original vectors"
          value={vector.onDisk}
          choices={ON_DISK}
          change={(onDisk) => {
            change({ onDisk });
          }}
        />
        <TextField
          label="m"
          type="number"
          min={0}
          max={512}
          value={vector.m}
          placeholder="16"
          hint="Links of a node of the graph. More find more, and take more memory."
          change={(m) => {
            change({ m });
          }}
        />
        <TextField
          label="ef_construct"
          type="number"
          min={4}
          max={65536}
          value={vector.efConstruct}
          placeholder="100"
          hint="Candidates kept while a node is inserted. More make a better graph, more slowly."
          change={(efConstruct) => {
            change({ efConstruct });
          }}
        />
      </div>
    </details>
  );
}
