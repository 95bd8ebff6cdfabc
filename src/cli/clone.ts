import type { Config, VerbFlag } from '../config';
import { EXIT, type Console, type ExitCode } from './console';
import { requiredFlag } from './flags';
import { URL_FLAG, withService } from './service';
import type { GivenFlags } from './verbs';

/** The flags of `kithdb collections clone`. */
export const CLONE_FLAGS: readonly VerbFlag[] = [
  URL_FLAG,
  {
    name: 'collection',
    placeholder: 'NAME',
    about: 'The collection that is cloned, which may also stand behind the verb.',
  },
  { name: 'to', placeholder: 'NAME', about: 'The name of the clone, which no collection has.' },
  { name: 'json', about: 'Prints the outcome as JSON.' },
];

/** `kithdb collections clone`: makes a collection of the same state under another name (C26). */
export async function cloneCollection(
  config: Config,
  console: Console,
  flags: GivenFlags,
): Promise<ExitCode> {
  const collection = requiredFlag(flags, 'collection', 'NAME');
  const name = requiredFlag(flags, 'to', 'NAME');
  await withService(config, flags, (service) =>
    service.execute({ operation: 'clone_collection', collection, body: { name } }),
  );
  console.stdout.write(
    flags.has('json')
      ? `${JSON.stringify({ collection, clone: name })}\n`
      : `The collection ${name} is a clone of ${collection}.\n`,
  );
  return EXIT.success;
}
