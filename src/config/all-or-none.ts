import { environmentName, type SettingKey, type SettingValues } from './settings';

/** All of some settings, or none of them: the paths; undefined for none. */
export function allOrNone(
  values: SettingValues,
  keys: readonly SettingKey[],
  problems: string[],
): readonly string[] | undefined {
  const given = keys.filter((key) => values[key] !== undefined);
  if (given.length === 0) return undefined;
  if (given.length < keys.length) {
    const missing = keys.filter((key) => !given.includes(key)).map(environmentName);
    problems.push(`${given.map(environmentName).join(' and ')} needs ${missing.join(' and ')} too`);
    return undefined;
  }
  return keys.map((key) => String(values[key]));
}
