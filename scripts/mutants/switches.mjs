/**
 * Many mutants of Rust in one build: a function that has mutants gets a copy of its body for each, behind a switch that
 * an environment variable sets. The method is that of mutant schemata (R. Untch, J. Offutt, M. J. Harrold: Mutation
 * analysis using mutant schemata, ISSTA 1993).
 */

/** The variable that has the number of the mutant that is on. */
export const ACTIVE = 'KITHDB_MUTANT';

/** The variable that has the file to which each switch that a process passes by writes its number, on a line. */
export const REACHED = 'MUTANTS_REACHED';

/** The module of the mutated crate that reads the variables. */
export const MODULE = 'mutant_switch';

export const MODULE_TEXT = `//! Which mutant is on, and which switches a process passes by.
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;
const UNREAD: u32 = u32::MAX;
const NOTED: u32 = u32::MAX - 1;
static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// Whether the mutant of that number is on.
pub fn is_on(number: u32) -> bool {
    let active = ACTIVE.load(Ordering::Relaxed);
    number == active || (active >= NOTED && is_on_at_first(number))
}
#[cold]
fn is_on_at_first(number: u32) -> bool {
    if ACTIVE.load(Ordering::Relaxed) == UNREAD {
        let active = std::env::var("${ACTIVE}").ok().and_then(|text| text.parse().ok());
        let none = if std::env::var_os("${REACHED}").is_some() { NOTED } else { 0 };
        ACTIVE.store(active.unwrap_or(none), Ordering::Relaxed);
    }
    if ACTIVE.load(Ordering::Relaxed) == NOTED {
        note(number);
    }
    ACTIVE.load(Ordering::Relaxed) == number
}
fn note(number: u32) {
    let mut reached = REACHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !reached.insert(number) {
        return;
    }
    let path = std::env::var_os("${REACHED}").expect("it was set when it was first read");
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("a file of notes");
    file.write_all(format!("{number}\\n").as_bytes()).expect("a note");
}
`;

/**
 * @typedef {object} Place a place in a file: line and column from 1, the column in characters
 * @property {number} line
 * @property {number} column
 *
 * @typedef {object} RustMutant
 * @property {number} number from 1
 * @property {{start: Place, end: Place}} span what it replaces
 * @property {string} replacement
 * @property {{start: Place, end: Place}} [functionSpan] the function that has it, from its attributes to its last brace
 */

/**
 * Puts the mutants of a file behind switches.
 *
 * @param {string} text the file
 * @param {RustMutant[]} mutants of that file
 * @returns {{text: string, alone: number[]}} the file with switches, and the numbers of those that it has not: mutants
 *   outside of functions, in `const fn`, in functions that return an `impl` type (copies have different ones), and in
 *   functions within others
 */
export function withSwitches(text, mutants) {
  const alone = [];
  const functions = new Map();
  for (const mutant of mutants) {
    const span = mutant.functionSpan && rangeOf(text, mutant.functionSpan);
    const body = span && bodyOf(text, span);
    if (body === undefined) alone.push(mutant.number);
    else if (functions.has(body.start)) functions.get(body.start).mutants.push(mutant);
    else functions.set(body.start, { body, mutants: [mutant] });
  }
  let changed = text;
  // From the end of the file, so that the places before stay where they are.
  let end = Infinity;
  for (const { body, mutants: its } of [...functions.values()].sort((a, b) => b.body.start - a.body.start)) {
    if (body.end > end) {
      // It has another one within itself, which has switches already.
      alone.push(...its.map(({ number }) => number));
      continue;
    }
    const copies = its.map((mutant) => {
      const marked = { ...mutant, replacement: `${hereOf(mutant.number)}${mutant.replacement}` };
      const copy = replaced(text, marked).slice(body.start, body.end + growth(text, marked));
      return `if crate::${MODULE}::is_on(${mutant.number}) ${beginOf(mutant.number)}\n${copy}\n${endOf(mutant.number)} else `;
    });
    const whole = `{ ${copies.join('')}${text.slice(body.start, body.end)} }`;
    changed = `${changed.slice(0, body.start)}${whole}${changed.slice(body.end)}`;
    end = body.start;
  }
  return { text: changed, alone };
}

/**
 * Which mutant's copy of a body a line of a file with switches belongs to, if any.
 *
 * @param {string} text a file with switches
 * @param {number} line from 1
 */
export function mutantAt(text, line) {
  let current;
  for (const content of text.split('\n').slice(0, line)) {
    const [, began, ended] = [...content.matchAll(/\/\*(?:mutant (\d+)|end of (\d+))\*\//g)].at(-1) ?? [];
    if (began !== undefined) current = Number(began);
    else if (ended !== undefined) current = undefined;
  }
  return current;
}

/** Whether any of these lines has what a mutant put into its copy. */
export function isAtMutant(text, { number, replacement }, { firstLine, lastLine }) {
  const line = text.slice(0, text.indexOf(hereOf(number))).split('\n').length;
  return firstLine <= line + replacement.split('\n').length - 1 && line <= lastLine;
}

/** The text with a mutant in place of what it replaces. */
export function replaced(text, { span, replacement }) {
  const { start, end } = rangeOf(text, span);
  return `${text.slice(0, start)}${replacement} ${text.slice(end)}`;
}

function growth(text, { span, replacement }) {
  const { start, end } = rangeOf(text, span);
  return replacement.length + 1 - (end - start);
}

function beginOf(number) {
  return `/*mutant ${number}*/`;
}

function hereOf(number) {
  return `/*here ${number}*/`;
}

function endOf(number) {
  return `/*end of ${number}*/`;
}

/** Offsets of a span. */
function rangeOf(text, { start, end }) {
  return { start: offsetOf(text, start), end: offsetOf(text, end) };
}

function offsetOf(text, { line, column }) {
  let offset = 0;
  for (let passed = 1; passed < line; passed += 1) offset = text.indexOf('\n', offset) + 1;
  const end = text.indexOf('\n', offset);
  const content = text.slice(offset, end < 0 ? text.length : end);
  return offset + [...content].slice(0, column - 1).join('').length;
}

/** The body of a function, with its braces; undefined where a copy of it would not compile or not mean the same. */
function bodyOf(text, { start, end }) {
  let depth = 0;
  for (const { index, token } of tokensOf(text, start, end)) {
    if ('(['.includes(token)) depth += 1;
    if (')]'.includes(token)) depth -= 1;
    if (token !== '{' || depth > 0) continue;
    const signature = text.slice(start, index);
    if (/\bconst\s+(?:unsafe\s+)?fn\b/.test(signature) || /->[^{]*\bimpl\b/.test(signature)) return undefined;
    return { start: index, end };
  }
  return undefined;
}

/** Comments, strings, characters and lifetimes, which may have braces in them, and every other character. */
const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|r(#*)"[\s\S]*?"\1|"(?:\\[\s\S]|[^"\\])*"|'(?:\\.[^']*|[^'\\\n])'|[\s\S]/gu;

function* tokensOf(text, start, end) {
  for (const match of text.slice(start, end).matchAll(TOKEN)) {
    yield { index: start + match.index, token: match[0] };
  }
}
