import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { BadModel } from '../models/bad-model';
import { checkModels, type TextModel } from '../models/model';
import { isYamlList } from './setting';
import { reason } from './sources';

/** The package is loaded where there are models, which most commands lack. */
const load = createRequire(__filename);

/**
 * The models of the setting: a YAML list, or the path of a file with it. What is wrong is added to `problems`, without what
 * a list holds: an endpoint may be no one's business.
 */
export function readModels(given: string | undefined, problems: string[]): readonly TextModel[] {
  if (given === undefined) return [];
  const isList = isYamlList(given);
  const origin = isList ? 'KITHDB_MODELS' : `KITHDB_MODELS: ${given.trim()}`;
  try {
    const text = isList ? given : readFileSync(given.trim(), 'utf8');
    const { parseDocument } = load('yaml') as typeof Yaml;
    const document = parseDocument(text, { uniqueKeys: true });
    const [broken] = document.errors;
    if (broken !== undefined) {
      throw new BadModel(`is not valid YAML: ${broken.message.split('\n')[0] ?? ''}`);
    }
    const models = checkModels(document.toJS({ maxAliasCount: 0 }));
    for (const model of models) requireFiles(model);
    return models;
  } catch (error) {
    problems.push(
      error instanceof BadModel
        ? `${origin} ${error.message}`
        : `${origin} cannot be read (${reason(error)})`,
    );
    return [];
  }
}

/** What cannot be read is found at the start, and not with the first text. */
function requireFiles(model: TextModel): void {
  const [key, path] = 'path' in model ? ['path', model.path] : ['key_file', model.keyFile];
  if (path === undefined) return;
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
    if (key === 'key_file') readFileSync(path);
  } catch (error) {
    throw new BadModel(`${key} of '${model.name}' cannot be read (${reason(error)})`);
  }
  if (key === 'path' && !isFolder) {
    throw new BadModel(`path of '${model.name}' must be a folder`);
  }
}
