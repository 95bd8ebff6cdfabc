import type { Config } from '../config';
import type { RepairReport } from '../operations/repair';
import { CommandError, counted, EXIT, type Console, type ExitCode } from './console';
import type { GivenFlags } from './verbs';
import { reasonOf } from '../files/explained';

/** Ids that are printed for a collection; `--json` has more. */
const PRINTED_IDS = 20;

/** `kithdb repair`: keeps the data whose checksums are right, and lists and sets aside the rest. */
export async function repair(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const dryRun = flags.has('dry-run');
  const confirmed = flags.has('yes');
  if (dryRun && confirmed) {
    throw new CommandError('--dry-run and --yes exclude each other', EXIT.usage);
  }
  const { repairDataDir } = await import('../operations/repair.js');
  let report: RepairReport;
  try {
    report = await repairDataDir(config.dataDir, !confirmed);
  } catch (error) {
    const reason = reasonOf(error);
    throw new CommandError(`Cannot repair ${config.dataDir}: ${reason}`);
  }
  console.stdout.write(flags.has('json') ? `${JSON.stringify(report, undefined, 2)}\n` : textOf(report));
  if (report.sound || report.done || dryRun) {
    return EXIT.success;
  }
  console.stderr.write('kithdb: nothing was changed: give --yes to do it\n');
  return EXIT.failure;
}

function textOf(report: RepairReport): string {
  if (report.sound) {
    return 'Nothing to repair.\n';
  }
  const { mended, notes, replacesLog, replacesCatalog, replacesMark, salvage, done } = report;
  const lines = [...notes];
  for (const one of mended) {
    lines.push(`collection ${one.name}:`, ...one.faults.map((fault) => `  damaged: ${fault}`));
    lines.push(...losses(one).map((loss) => `  ${done ? 'lost' : 'would be lost'}: ${loss}`));
    lines.push(...one.notes.map((note) => `  ${note}`));
    lines.push(`  ${done ? 'kept' : 'would be kept'}: ${counted(one.points, 'point')}`);
  }
  if (replacesCatalog) {
    lines.push(`${done ? 'The' : 'Would be done: the'} list of collections is written again`);
  }
  if (replacesMark) {
    lines.push(`${done ? 'The' : 'Would be done: the'} mark of how far the log was cut is written again`);
  }
  if (replacesLog) {
    lines.push(`${done ? 'The' : 'Would be done: the'} damaged log is replaced by a new one`);
  }
  if (salvage !== undefined) {
    lines.push(`What was replaced is in ${salvage}`);
  }
  return `${lines.join('\n')}\n`;
}

function losses(one: RepairReport['mended'][number]): readonly string[] {
  const found: string[] = [];
  if (one.lostPoints > 0) {
    const ids = one.lostIds.slice(0, PRINTED_IDS).join(', ');
    const more = one.lostPoints > PRINTED_IDS ? `, and ${one.lostPoints - PRINTED_IDS} more` : '';
    found.push(`${counted(one.lostPoints, 'point')}: ${ids}${more}`);
  }
  if (one.unknownPoints > 0) {
    found.push(`up to ${one.unknownPoints} points whose ids cannot be read`);
  }
  found.push(...one.lostOperations.map(([from, to]) => `operations ${from ?? 0} to ${to ?? 0}`));
  return found;
}
