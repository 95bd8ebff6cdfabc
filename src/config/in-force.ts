import { describe, fileKey, SETTING_KEYS, type SettingKey, type SettingValues } from './settings';

/** A setting as it is in force, for who runs the server. */
export interface SettingInForce {
  /** Its key in the file. */
  readonly name: string;
  /** Null where there is none, and for secrets. */
  readonly value: string | number | boolean | readonly string[] | null;
  /** The place that gave it: `--port`, `KITHDB_PORT`, `port in kithdb.yaml`; null for the default. */
  readonly from: string | null;
  /** One or two sentences. */
  readonly about: string;
  /** Its value is never shown. */
  readonly secret: boolean;
}

/** All settings in the order of their table. `origins` has the place of each that was given. */
export function settingsInForce(
  values: SettingValues,
  origins: ReadonlyMap<SettingKey, string>,
): readonly SettingInForce[] {
  return SETTING_KEYS.map((key) => {
    const { about, secret = false } = describe(key);
    return {
      name: fileKey(key),
      value: secret ? null : shown(values[key]),
      from: origins.get(key) ?? null,
      about,
      secret,
    };
  });
}

function shown(value: unknown): SettingInForce['value'] {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.map(String);
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return value;
  return JSON.stringify(value);
}
