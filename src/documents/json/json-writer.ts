// Writes the values of a JSON text as lines: paths, records, lists of short values. json-turns.ts recognises turns of a
// conversation.

import type { JsonSink } from "./json-tokens.ts";
import { turnLine } from "./json-turns.ts";

/** Number of steps of a long path that are written: some at its beginning and some at its end. */
const STEPS_FIRST = 4;
const STEPS_LAST = 12;
/** Maximum length, in UTF-16 code units, of a step (key or index) that is followed by other steps. */
const STEP_UNITS_MAX = 80;
/**
 * Maximum number of UTF-16 code units that paths may add to a text. After that, only the last step of each path is
 * written.
 */
const PATH_UNITS_MAX = 64 * 1024 * 1024;
/** Maximum length of a line of short list values, in UTF-16 code units. */
const LIST_LINE_UNITS = 400;
const LIST_VALUE_UNITS_MAX = 80;
/** Maximum length, in UTF-16 code units, of an object inside a record that is written on one line. */
const RECORD_LINE_UNITS = 300;
/** Limits for an object that can be a turn of a conversation: number of lines, length in UTF-16 code units, depth. */
const TURN_LINES_MAX = 1_000;
const TURN_UNITS_MAX = 1024 * 1024;
const TURN_DEPTH_MAX = 8;
/**
 * Number of last lines that are not yet joined into pieces, so that the line of a turn can replace them. It is larger
 * than the number of lines of a turn.
 */
const LINES_APART_MAX = 8 * TURN_LINES_MAX;
/**
 * Garbage is collected each time this many UTF-16 code units of text have been written. Without that, a file of 100 MB
 * would take more than a gigabyte.
 */
const COLLECT_AFTER_UNITS = 16 * 1024 * 1024;
/** Matches keys that are written without quotes in a path. */
const PLAIN_KEY = /^[^.[\]"\s][^.[\]"\n\r\t]*$/;

/** An open object or list. */
interface Frame {
  readonly kind: "object" | "array";
  readonly start: number;
  /** Path of the object or list itself. */
  readonly path: string;
  /** Key or list index of the next value. */
  step: string;
  count: number;
  /** Whether the object or list is inside an object that is an element of a list. */
  readonly isWithinRecord: boolean;
  /** For an object in a list, its `key: value` texts, as long as they fit on one line; else null. */
  cells: string[] | null;
  /**
   * Short values of a list that are not written yet; null as soon as the values of this list are written one by one.
   */
  values: string[] | null;
  /** List index of the first value in `values`. */
  valuesFrom: number;
  units: number;
  /** For an object of a list, the number of lines that were written before it; else -1. */
  firstLine: number;
  /** Maximum depth of nesting of the values inside. */
  depth: number;
  /** Whether the first object of this list is a turn. */
  hasTurns: boolean;
}

/** Receives the tokens of JSON values and writes lines. */
export class JsonWriter implements JsonSink {
  readonly #frames: Frame[] = [];
  /** The last lines. Earlier lines have been joined into pieces. */
  readonly #lines: string[] = [];
  readonly #pieces: string[] = [];
  #linesInPieces = 0;
  #unitsKept = 0;
  #needsBreak = false;
  #pathUnits = 0;

  /**
   * @param text the text that the tokens come from
   * @param isList whether the text has several values one after another. They are treated like the values of a list.
   */
  constructor(
    private text: string,
    isList: boolean,
  ) {
    if (isList) this.#frames.push({ ...this.#frame("array", 0, undefined), values: null });
  }

  /** Sets the text that the following tokens come from. */
  continueWith(text: string): void {
    this.text = text;
  }

  /** Writes an invalid value unchanged. */
  writeInvalid(written: string): void {
    const list = this.#frames.at(-1);
    if (list !== undefined) this.#countValue(list);
    this.#needsBreak = true;
    this.#line(written);
    this.#needsBreak = true;
  }

  open(kind: "object" | "array", at: number): void {
    const parent = this.#frames.at(-1);
    if (parent !== undefined) {
      this.#flush(parent);
      this.#countValue(parent);
    }
    const frame = this.#frame(kind, at, parent);
    if (frame.firstLine !== -1 && !frame.isWithinRecord) this.#needsBreak = true;
    this.#frames.push(frame);
  }

  key(name: string): void {
    const frame = this.#frames.at(-1);
    if (frame !== undefined) frame.step = name;
  }

  scalar(text: string, isString: boolean): void {
    const value = isString && text === "" ? '""' : text;
    const frame = this.#frames.at(-1);
    if (frame === undefined) {
      this.#line(value);
      return;
    }
    this.#countValue(frame);
    const isShort = value.length <= LIST_VALUE_UNITS_MAX && !value.includes("\n");
    if (frame.values !== null) {
      if (isShort) this.#addToList(frame, frame.values, value);
      else this.#flush(frame);
      if (isShort) return;
    } else if (frame.cells !== null) {
      const cell = `${frame.step}: ${value}`;
      frame.units += cell.length;
      frame.cells.push(cell);
      if (frame.units <= RECORD_LINE_UNITS && !value.includes("\n")) return;
      this.#flush(frame);
      return;
    }
    this.#line(this.#labelled(this.#path(), value));
  }

  close(end: number): void {
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    const parent = this.#frames.at(-1);
    if (parent !== undefined) parent.depth = Math.max(parent.depth, frame.depth + 1);
    if (frame.hasTurns) this.#needsBreak = true;
    if (frame.count === 0) this.#line(this.#labelled(frame.path, frame.kind === "object" ? "{}" : "[]"));
    if (frame.values !== null && frame.values.length > 0) this.#writeList(frame, frame.values);
    if (frame.cells !== null && frame.cells.length > 0) this.#line(this.#labelled(frame.path, frame.cells.join(" | ")));
    if (parent?.kind !== "array" || frame.kind !== "object") return;
    if (this.#isTurn(frame, parent, end)) return;
    if (frame.cells === null) this.#needsBreak = true;
  }

  /** The text in pieces, with an empty line between paragraphs. */
  pieces(): readonly string[] {
    this.#endPiece(this.#lines.length);
    return this.#pieces;
  }

  #frame(kind: "object" | "array", start: number, parent: Frame | undefined): Frame {
    const isElement = parent?.kind === "array" && kind === "object";
    const isWithinRecord = parent !== undefined && (parent.isWithinRecord || parent.firstLine !== -1);
    return {
      kind,
      start,
      path: this.#pathBefore(),
      step: "",
      count: 0,
      isWithinRecord,
      cells: isElement && isWithinRecord ? [] : null,
      values: kind === "array" ? [] : null,
      valuesFrom: 0,
      units: 0,
      firstLine: isElement ? this.#lineCount() : -1,
      depth: 0,
      hasTurns: false,
    };
  }

  /** Updates the counts of an object or list for its next value. */
  #countValue(frame: Frame): void {
    if (frame.kind === "array") frame.step = String(frame.count);
    frame.count++;
  }

  /** Writes the collected values line by line, because they do not fit one line. */
  #flush(frame: Frame): void {
    const { cells, values } = frame;
    frame.cells = null;
    frame.values = null;
    if (cells !== null) {
      this.#needsBreak = true;
      for (const cell of cells) this.#line(`${frame.path}.${cell}`);
    }
    if (values !== null && values.length > 0) this.#writeList(frame, values);
  }

  #addToList(frame: Frame, values: string[], value: string): void {
    values.push(value);
    frame.units += value.length + 2;
    if (frame.units < LIST_LINE_UNITS) return;
    this.#writeList(frame, values);
    frame.values = [];
    frame.valuesFrom = frame.count;
    frame.units = 0;
  }

  #writeList({ path, valuesFrom }: Frame, values: readonly string[]): void {
    const start = valuesFrom === 0 ? path : `${path}[${valuesFrom}]`;
    this.#line(this.#labelled(start, values.join(", ")));
  }

  #isTurn(frame: Frame, parent: Frame, end: number): boolean {
    const lines = this.#lineCount() - frame.firstLine;
    if (frame.firstLine === -1 || lines > TURN_LINES_MAX) return false;
    if (frame.depth > TURN_DEPTH_MAX || end - frame.start > TURN_UNITS_MAX) return false;
    if (parent.count > 1 && !parent.hasTurns) return false;
    const turn = turnLine(this.text.slice(frame.start, end));
    if (turn === null) return false;
    this.#lines.length -= lines;
    this.#needsBreak = parent.count === 1;
    parent.hasTurns = true;
    this.#line(turn);
    this.#needsBreak = false;
    return true;
  }

  #line(line: string): void {
    if (this.#needsBreak && this.#lines.length > 0) this.#lines.push("");
    this.#needsBreak = false;
    this.#lines.push(line);
    if (this.#lines.length > LINES_APART_MAX) this.#endPiece(this.#lines.length - TURN_LINES_MAX - 1);
  }

  #lineCount(): number {
    return this.#linesInPieces + this.#lines.length;
  }

  #endPiece(lines: number): void {
    if (lines === 0) return;
    const piece = this.#lines.splice(0, lines).join("\n");
    this.#pieces.push(this.#linesInPieces === 0 ? piece : `\n${piece}`);
    this.#linesInPieces += lines;
    this.#unitsKept += piece.length;
    if (this.#unitsKept < COLLECT_AFTER_UNITS) return;
    this.#unitsKept = 0;
    Bun.gc(true);
  }

  #labelled(path: string, value: string): string {
    return path === "" ? value : `${path}: ${value}`;
  }

  /** Path of the current value. */
  #path(): string {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return "";
    const isShort = this.#pathUnits > PATH_UNITS_MAX;
    const path = isShort ? stepText(frame, true) : frame.path + stepText(frame, frame.path === "");
    this.#pathUnits += path.length;
    return path;
  }

  /** Path of the object or list that begins here. It is shortened because all paths inside begin with it. */
  #pathBefore(): string {
    const depth = this.#frames.length;
    const parent = this.#frames.at(-1);
    if (parent === undefined) return "";
    if (depth <= STEPS_FIRST + STEPS_LAST) return parent.path + cutStepText(parent, parent.path === "");
    const last = this.#frames.slice(depth - STEPS_LAST).map((frame) => cutStepText(frame, false));
    return `${this.#frames[STEPS_FIRST]?.path ?? ""}…${last.join("")}`;
  }
}

function stepText({ kind, step }: Frame, isFirst: boolean): string {
  if (kind === "array") return `[${step}]`;
  if (!PLAIN_KEY.test(step)) return `[${JSON.stringify(step)}]`;
  return isFirst ? step : `.${step}`;
}

/** The text of a step in a path. A long one is shortened, because it is repeated before each value inside. */
function cutStepText(frame: Frame, isFirst: boolean): string {
  if (frame.step.length <= STEP_UNITS_MAX) return stepText(frame, isFirst);
  return stepText({ ...frame, step: `${frame.step.slice(0, STEP_UNITS_MAX).toWellFormed()}…` }, isFirst);
}
