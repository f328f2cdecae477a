// Collects the runs of a paragraph, of which some are raised, lowered or struck through. Writes superscripts and
// subscripts in the notation of scripts.ts, and struck text as Markdown does, so that a former price is not read as the
// new one.

import { continuesWord, subscript, superscript } from "../scripts.ts";

/** Position of a run of text: on the line, above or below it. `note` is the mark of a note above the line. */
export type RunPosition = "line" | "raised" | "lowered" | "note";

interface Run {
  text: string;
  readonly position: RunPosition | "equation";
  readonly isStruck: boolean;
}

/** Number of UTF-16 code units that are considered before and after a script. */
const BESIDE_UNITS = 80;

/** The runs of one paragraph. */
export class ScriptedText {
  #runs: Run[] = [];

  add(text: string, position: RunPosition, isStruck = false): void {
    if (text === "") return;
    const last = this.#runs.at(-1);
    // programs split a run at spelling errors and revisions
    if (last?.position === position && last.isStruck === isStruck && position !== "note") last.text += text;
    else this.#runs.push({ text, position, isStruck });
  }

  /** Adds an equation, which continues no word and no number. */
  addEquation(text: string): void {
    if (text !== "") this.#runs.push({ text, position: "equation", isStruck: false });
  }

  /** Returns the text and removes all runs. @param hasMarks whether marks of notes are written */
  take(hasMarks = true): string {
    const runs = this.#runs.filter(({ position }) => hasMarks || position !== "note");
    this.#runs = [];
    const [only] = runs;
    if (runs.length <= 1 && only?.position !== "note")
      return only?.isStruck === true ? struck(only.text) : (only?.text ?? "");
    let written = "";
    let open = "";
    let tail = "";
    for (const [at, { text, position, isStruck }] of runs.entries()) {
      const shown = isOnLine(position)
        ? spaced(tail, text, runs[at - 1], position)
        : writtenScript(text, position, tail, runs[at + 1]);
      if (!isStruck) written += struck(open) + shown;
      open = isStruck ? open + shown : "";
      tail = (tail + shown).slice(-BESIDE_UNITS);
    }
    return written + struck(open);
  }
}

/** Marks the lines of a text as struck through. White space at their ends is left outside. */
export function struck(text: string): string {
  return text.replace(/[^\s](?:[^\n]*[^\s])?/g, "~~$&~~");
}

function isOnLine(position: Run["position"]): position is "line" | "equation" {
  return position === "line" || position === "equation";
}

/** The text of a run, with a space where an equation would be read as part of the word or number beside it. */
function spaced(tail: string, text: string, before: Run | undefined, position: Run["position"]): string {
  const isBesideEquation = position === "equation" || before?.position === "equation";
  return isBesideEquation && continuesWord(tail, text) ? ` ${text}` : text;
}

function writtenScript(
  text: string,
  position: Exclude<RunPosition, "line">,
  tail: string,
  next: Run | undefined,
): string {
  // white space at the ends of a run is not part of the script
  const [, before = "", script = "", behind = ""] = /^(\s*)(.*?)(\s*)$/s.exec(text) ?? [];
  if (script === "" || script.includes("\n")) return text;
  const line = `${tail}${before}`.replace(/^.*\n/s, "");
  const after =
    behind +
    (next !== undefined && isOnLine(next.position) ? next.text.slice(0, BESIDE_UNITS).replace(/\n.*$/s, "") : "");
  if (position === "lowered") return `${before}${subscript(script, { before: line, after })}${behind}`;
  const shown = superscript(script, { before: line, after, isNote: position === "note" });
  // a letter or digit after an exponent would be read as part of it
  const isGlued = shown.startsWith("^") && /\d\d$|\p{L}[\p{L}\p{N}]$/u.test(shown.slice(-1) + after.slice(0, 1));
  const gap = isGlued ? " " : "";
  return `${before}${shown}${gap}${behind}`;
}
