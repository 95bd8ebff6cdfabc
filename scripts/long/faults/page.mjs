/** The table of docs/faults.md: which test has detected which fault, of which commit, in how many seconds. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../build/tree.mjs';
import { testedCommit } from '../record.mjs';
import { allFaults, DETECTED_BY } from './table.mjs';

const PAGE = join(root, 'docs', 'faults.md');
const [BEGIN, END] = ['<!-- faults: written by npm run test:long -- faults -->', '<!-- end of faults -->'];

/** What the page says was detected, by fault: commit and seconds, as cells. */
export function recordedFaults(page = readFileSync(PAGE, 'utf8')) {
  const [, table = ''] = page.split(BEGIN);
  const rows = table.split(END)[0].matchAll(/^\| `(\w+)`.*?\| (\S*) +\| (\S*) +\|$/gm);
  return new Map([...rows].map(([, fault, commit, seconds]) => [fault, { commit, seconds }]));
}

/** Writes down the faults that were detected now, with their seconds; the rows of the others stay as they are. */
export async function noteDetected(detected) {
  const page = readFileSync(PAGE, 'utf8');
  const known = recordedFaults(page);
  const commit = await testedCommit();
  for (const [fault, seconds] of detected) known.set(fault, { commit, seconds: seconds.toFixed(1) });
  const [before] = page.split(BEGIN);
  const [, after] = page.split(END);
  const text = `${before}${BEGIN}\n\n${table(known)}\n\n${END}${after}`;
  // Loaded here, because `npm test` imports this file before the packages are installed.
  const { default: prettier } = await import('prettier');
  const options = await prettier.resolveConfig(PAGE);
  writeFileSync(PAGE, await prettier.format(text, { ...options, parser: 'markdown' }));
}

function table(known) {
  const what = allFaults();
  const rows = Object.entries(DETECTED_BY).map(([fault, test]) => {
    const { commit = '', seconds = '' } = known.get(fault) ?? {};
    const where = test.kind === 'rust' ? test.program : test.file;
    return `| \`${fault}\` | ${what[fault]} | ${where}: \`${test.name}\` | ${commit} | ${seconds} |`;
  });
  return ['| fault | what it is | detected by | commit | s |', '| - | - | - | - | - |', ...rows].join('\n');
}
