export { ConfigError, loadConfig, type Config, type ConfigSources } from './load';
export type { SettingInForce } from './in-force';
export { suggestion } from './nearest';
export { settingsFile, settingsHelp, settingsReference, wrapped } from './reference';
export { environmentName, flagName, isPathFlag, type SettingKey } from './settings';
export { readFlags, type CommandLine, type VerbFlag } from './command-line';
export { flagNames, takesValue } from './sources';

/** The environment of this process. Only this folder reads it, and only the table of settings says what is in it. */
export function environmentOfProcess(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
