// Finds superscripts and subscripts among the runs of a page, by font size and baseline, and writes them as text on the
// baseline of their line. scripts.ts decides about the notation.

import { SCRIPT_UNITS_MAX, subscript, superscript } from "../scripts.ts";
import type { Run } from "./runs.ts";

/** Maximum and minimum font size of a script, relative to the text before it. */
const SIZE_MAX = 0.87;
const SIZE_MIN = 0.35;
/** How far above and below the baseline scripts are, in font sizes of the text before them. */
const RAISED = { min: 0.15, max: 0.75 } as const;
const LOWERED = { min: 0.07, max: 0.6 } as const;
/** Like `RAISED`, for numbers in the font size of their line: smaller shifts are uneven baselines. */
const RAISED_ALIKE = { min: 0.24, max: 0.6 } as const;
/** Maximum gap and overlap between a script and the text before it, in font sizes of the script. */
const GAP_MAX = 0.3;
const OVERLAP_MAX = 0.4;
/** Maximum gap between a script and another text of its line that is not directly beside it, in font sizes. */
const DISTANT_GAP_MAX = 0.85;
/** Minimum shift of a mark that is not directly beside a text, in font sizes. */
const DISTANT_SHIFT_MIN = 0.2;
/** Maximum gap between the parts of a script, in its font sizes. */
const PART_GAP_MAX = 0.6;
/** Number of runs before and after a script, in drawing order, that are searched for the text beside it. */
const NEAR_RUNS = 8;
/** Minimum font size of an initial relative to the text beside it, which is no script. */
const INITIAL_SIZE_MIN = 1.8;

const SCRIPT = /^[^\s\p{C}](?:[^\p{C}]{0,22}[^\s\p{C}])?$/u;
const MARK = /^[[(]?(?:\d{1,3}|\p{L})(?:\s?[,;–-]\s?(?:\d{1,3}|\p{L}))*[\])]?$/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

interface Script {
  /** Parts of the script, in order. */
  readonly parts: Run[];
  readonly isRaised: boolean;
  /** The text directly before it; null for a mark at the start of a line or cell. */
  readonly base: Run | null;
  /** Whether there is a space between the text and the script. */
  readonly isDistant: boolean;
  /** The text after it on the same line; null if there is none. */
  readonly next: Run | null;
}

/** The runs of a page, where superscripts and subscripts are written as text on the baseline. Takes linear time. */
export function withScriptsWritten(runs: readonly Run[]): readonly Run[] {
  const scripts = scriptsIn(runs);
  if (scripts.size === 0) return runs;
  const notes = new Set<string>();
  for (const { base, parts } of scripts.values()) {
    const text = textOf(parts);
    if (base === null && MARK.test(text)) notes.add(text);
  }
  const writing = new Writing(notes);
  const result: Run[] = [];
  for (const run of runs) {
    const script = scripts.get(run);
    if (script === undefined) result.push(run);
    else if (script.parts[0] === run) result.push(writing.written(script, scripts));
  }
  return result;
}

/** The scripts, by each of their parts. */
function scriptsIn(runs: readonly Run[]): ReadonlyMap<Run, Script> {
  const scripts = new Map<Run, Script>();
  for (const [at, run] of runs.entries()) {
    const text = run.text.trim();
    if (text.length > SCRIPT_UNITS_MAX || !SCRIPT.test(text) || RIGHT_TO_LEFT.test(text)) continue;
    // other symbols have the same meaning wherever they stand; a sign may begin an exponent
    if (!/[\p{L}\p{N}]|^[-+−–]$/u.test(text)) continue;
    const whole = partOf(run, runs, at, scripts);
    if (whole !== null) {
      whole.parts.push(run);
      scripts.set(run, whole);
      continue;
    }
    const script = scriptAt(run, runs, at, scripts);
    if (script !== null) scripts.set(run, script);
  }
  for (const [run, { parts }] of scripts) if (!/[\p{L}\p{N}]/u.test(textOf(parts))) scripts.delete(run);
  return scripts;
}

/** The script that a run continues; null if there is none. */
function partOf(run: Run, runs: readonly Run[], at: number, scripts: ReadonlyMap<Run, Script>): Script | null {
  const last = runs[at - 1];
  const script = last === undefined ? undefined : scripts.get(last);
  if (last === undefined || script === undefined) return null;
  const gap = (run.left - last.right) / last.size;
  const isSame =
    Math.abs(run.size - last.size) < 0.1 * last.size && Math.abs(run.baseline - last.baseline) < 0.1 * last.size;
  const isShort = textOf(script.parts).length + run.text.length < SCRIPT_UNITS_MAX;
  return isSame && isShort && gap > -OVERLAP_MAX && gap < PART_GAP_MAX ? script : null;
}

function scriptAt(run: Run, runs: readonly Run[], at: number, scripts: ReadonlyMap<Run, Script>): Script | null {
  let distant: Run | null = null;
  for (let before = at - 1; before >= Math.max(0, at - NEAR_RUNS); before--) {
    const beside = runs[before];
    // a superscript may follow a subscript
    const base = beside === undefined ? undefined : (scripts.get(beside)?.base ?? beside);
    if (beside === undefined || base === undefined || RIGHT_TO_LEFT.test(base.text)) continue;
    const direction = directionOf(run, base);
    if (direction === null || isInitial(base, run)) continue;
    const gap = (run.left - beside.right) / run.size;
    const isBeside = gap < GAP_MAX && gap > -OVERLAP_MAX && !/\s$/.test(base.text);
    if (isBeside) return { parts: [run], isRaised: direction > 0, base, isDistant: false, next: nextOf(run, runs, at) };
    if (gap > -OVERLAP_MAX && gap < DISTANT_GAP_MAX && beside === base) distant ??= base;
  }
  const next = nextOf(run, runs, at);
  if (!MARK.test(run.text.trim())) return null;
  if (distant !== null) {
    const isMark = shiftOf(run, distant) > DISTANT_SHIFT_MIN && /\d/.test(run.text);
    return isMark ? { parts: [run], isRaised: true, base: distant, isDistant: true, next } : null;
  }
  const isStart = next !== null && shiftOf(run, next) > DISTANT_SHIFT_MIN && directionOf(run, next) === 1;
  return isStart && !isInitial(next, run) ? { parts: [run], isRaised: true, base: null, isDistant: false, next } : null;
}

/** 1 if a run is a superscript beside `line`, −1 if it is a subscript; null if it is neither. */
function directionOf(run: Run, line: Run): 1 | -1 | null {
  const size = run.size / line.size;
  const shift = shiftOf(run, line);
  if (size > SIZE_MAX || size < SIZE_MIN) {
    const isAlike = size > SIZE_MAX && size < 1.02 && shift > RAISED_ALIKE.min && shift < RAISED_ALIKE.max;
    return isAlike && /^\d{1,3}$/.test(run.text.trim()) ? 1 : null;
  }
  if (shift > RAISED.min && shift < RAISED.max) return 1;
  return -shift > LOWERED.min && -shift < LOWERED.max ? -1 : null;
}

/** How far a run is above the baseline of `line`, in font sizes of the line. */
function shiftOf(run: Run, line: Run): number {
  return (line.baseline - run.baseline) / line.size;
}

/** Whether `base` is an initial of a paragraph: a letter or two in a large font beside text. */
function isInitial(base: Run, run: Run): boolean {
  return base.text.trim().length <= 2 && base.size > INITIAL_SIZE_MIN * run.size && /^\p{L}/u.test(run.text.trim());
}

/** The text on the same line that begins where a script ends; null if there is none. */
function nextOf(run: Run, runs: readonly Run[], at: number): Run | null {
  for (let behind = at + 1; behind < Math.min(runs.length, at + NEAR_RUNS); behind++) {
    const next = runs[behind];
    if (next === undefined || next.size * SIZE_MAX < run.size) continue;
    const gap = (next.left - run.right) / next.size;
    const isOnLine = Math.abs(shiftOf(run, next)) < RAISED.max;
    if (isOnLine && gap > -OVERLAP_MAX && gap < DISTANT_GAP_MAX) return next;
  }
  return null;
}

class Writing {
  /** Text before the next script of a run, so that a second script sees the first. */
  private readonly textBefore = new Map<Run, string>();

  constructor(private readonly notes: ReadonlySet<string>) {}

  /** The run that is written for a script. */
  written(script: Script, scripts: ReadonlyMap<Run, Script>): Run {
    const { parts, base, next, isDistant, isRaised } = script;
    const [first, last] = [parts[0] as Run, parts.at(-1) as Run];
    const line = base ?? next ?? first;
    const text = textOf(parts);
    const isApart = next !== null && (next.left - last.right > 0.15 * next.size || /\s$/.test(last.text));
    const behind = next === null ? "" : `${isApart ? " " : ""}${next.text}`;
    const before = base === null ? "" : `${this.textBefore.get(base) ?? base.text}${isDistant ? " " : ""}`;
    const after = next === null || scripts.has(next) ? "" : behind;
    const shown = isRaised
      ? superscript(text, { before, after, isNote: false, notes: this.notes })
      : subscript(text, { before, after });
    if (base !== null) this.textBefore.set(base, before + shown);
    const isSpaced = base === null ? !/^\^/.test(shown) : /\s$/.test(last.text);
    return {
      ...first,
      text: isSpaced ? `${shown} ` : shown,
      left:
        base === null || (isDistant && !shown.startsWith("^"))
          ? first.left
          : Math.max(base.right, first.left - DISTANT_GAP_MAX * first.size),
      right: Math.max(last.right, first.right),
      baseline: line.baseline,
    };
  }
}

function textOf(parts: readonly Run[]): string {
  return parts.map(({ text }) => text.trim()).join("");
}
