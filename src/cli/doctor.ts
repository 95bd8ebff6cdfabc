import type { Config } from '../config';
import type { Finding } from '../doctor/finding';
import { EXIT, type Console, type ExitCode } from './console';
import { printable } from './table';
import type { GivenFlags } from './verbs';

/** How a line begins, by what was found. */
const MARKS: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok      ',
  advice: 'advice  ',
  problem: 'PROBLEM ',
  unknown: 'unknown ',
};

/** `kithdb doctor`: what a server of these settings finds on this machine, and what to change. */
export async function doctor(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const { examine } = await import('../doctor/examination.js');
  const findings = await examine(config);
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(findings, undefined, 2)}\n`);
  } else {
    const width = Math.max(...findings.map(({ check }) => check.length));
    console.stdout.write(findings.map((finding) => lineOf(finding, width)).join(''));
  }
  if (findings.some(({ state }) => state === 'problem')) {
    return EXIT.failure;
  }
  return findings.some(({ state }) => state === 'advice') ? EXIT.reservations : EXIT.success;
}

function lineOf({ check, state, what, advice }: Finding, width: number): string {
  const line = `${MARKS[state]}${check.padEnd(width)}  ${printable(what)}\n`;
  return advice === undefined || advice === ''
    ? line
    : `${line}${' '.repeat(MARKS.ok.length + width)}  to do: ${printable(advice)}\n`;
}
