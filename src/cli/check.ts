import type { Config } from '../config';
import { CommandError, counted, EXIT, type Console, type ExitCode } from './console';
import { optionalFlag } from './flags';
import type { GivenFlags } from './verbs';
import type { CheckReport, Finding } from '../operations/check';
import { reasonOf } from '../files/explained';

/** `kithdb check`: what is wrong with a data directory, for operators and, as JSON, for scripts. */
export async function check(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const { checkDataDir } = await import('../operations/check.js');
  let report: CheckReport;
  try {
    report = await checkDataDir(config.dataDir, config.tokenStore, optionalFlag(flags, 'collection'));
  } catch (error) {
    const reason = reasonOf(error);
    throw new CommandError(`Cannot check ${config.dataDir}: ${reason}`, EXIT.usage);
  }
  console.stdout.write(flags.has('json') ? `${JSON.stringify(report, undefined, 2)}\n` : textOf(report));
  return EXITS[verdict(report)];
}

type Verdict = 'sound' | 'NOT SOUND' | 'NOT ALL CHECKED';

const EXITS = {
  sound: EXIT.success,
  'NOT SOUND': EXIT.failure,
  // The code for what cannot be checked: no damage was found that a script could act on.
  'NOT ALL CHECKED': EXIT.usage,
} as const satisfies Record<Verdict, ExitCode>;

function verdict({ clean, findings, unlisted }: CheckReport): Verdict {
  if (clean) {
    return 'sound';
  }
  const isHarmless =
    unlisted === 0 && findings.every(({ severity }) => ['note', 'unknown'].includes(severity));
  return isHarmless ? 'NOT ALL CHECKED' : 'NOT SOUND';
}

function textOf(report: CheckReport): string {
  const { findings, unlisted, collections, files, bytes } = report;
  const lines = findings.map(line);
  if (unlisted > 0) {
    lines.push(`… and ${counted(unlisted, 'more finding')}`);
  }
  for (const { id, name, points, fault } of collections) {
    const which = name ?? `with the number ${id}`;
    lines.push(
      `collection ${which}: ${points === null ? `not served: ${fault ?? ''}` : `sound, ${counted(points, 'point')}`}`,
    );
  }
  lines.push(
    `${verdict(report)}: ${counted(collections.length, 'collection')}, ${counted(files, 'file')}, ${counted(bytes, 'byte')} verified`,
  );
  return `${lines.join('\n')}\n`;
}

/** One line: where, what, what it means, what to do. */
function line({ severity, file, collection, what, effect, advice }: Finding): string {
  const where = collection === null ? file : `${file} (${collection})`;
  return `${severity}: ${where}: ${what}. Effect: ${effect}. To do: ${advice}.`;
}
