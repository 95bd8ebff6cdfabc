import { SelectField } from '../parts/form';
import { fieldLabel, type VectorField } from '../service/types';

interface VectorChoiceProps {
  readonly fields: readonly VectorField[];
  readonly value: string;
  readonly change: (name: string) => void;
}

/** Which vector is searched; nothing where there is one. */
export function VectorChoice({ fields, value, change }: VectorChoiceProps) {
  if (fields.length < 2) return null;
  const choices = fields.map((field) => ({ value: field.name, label: fieldLabel(field) }));
  return <SelectField label="Vector" value={value} choices={choices} change={change} />;
}
