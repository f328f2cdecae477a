// How the values of a JSON text become lines: paths, records, lists of short values. Which line is a turn of a conversation is decided
// in json-turns.ts.

import type { JsonSink } from "./json-tokens.ts";
import { turnLine } from "./json-turns.ts";

/** Steps of a path that are written at most, the first and the last of them: beyond that nobody reads on. */
const STEPS_FIRST = 4;
const STEPS_LAST = 12;
/** Units of a step that stands before others. */
const STEP_UNITS_MAX = 80;
/** Units that paths may add to a text; beyond that, only their last steps are written. */
const PATH_UNITS_MAX = 64 * 1024 * 1024;
/** Short values of a list stand on one line, this many units of them at most. */
const LIST_LINE_UNITS = 400;
const LIST_VALUE_UNITS_MAX = 80;
/** An object within a record stands on one line up to this many units. */
const RECORD_LINE_UNITS = 300;
/** Lines and units of an object that is a turn of a conversation at most. */
const TURN_LINES_MAX = 1_000;
const TURN_UNITS_MAX = 1024 * 1024;
const TURN_DEPTH_MAX = 8;
/** Lines that are kept apart from each other, so that a turn can take their place; more than a turn has. */
const LINES_APART_MAX = 8 * TURN_LINES_MAX;
/** Units after which what the lines left behind is freed: a file of 100 MB would take more than a gigabyte. */
const COLLECT_AFTER_UNITS = 16 * 1024 * 1024;
/** Keys that need no quotes in a path. */
const PLAIN_KEY = /^[^.[\]"\s][^.[\]"\n\r\t]*$/;

/** An object or list that is open. */
interface Frame {
  readonly kind: "object" | "array";
  readonly start: number;
  /** Where it stands itself. */
  readonly path: string;
  /** The key at which, or the place in a list where, the next value stands. */
  step: string;
  count: number;
  /** Whether an object of a list is open around it. */
  readonly isWithinRecord: boolean;
  /** An object in a list, with nothing but short values so far, which may be one line; null for any other. */
  cells: string[] | null;
  /** Short values of a list that are not written yet; null once it is written value by value. */
  values: string[] | null;
  /** The place in the list of the first of them. */
  valuesFrom: number;
  units: number;
  /** Of the lines written: where an object of a list begins; -1 for any other, and once it is too long for a turn. */
  mark: number;
  /** Depth of what is within it. */
  depth: number;
  /** Of a list: whether its first object is a turn. */
  hasTurns: boolean;
}

/** Takes the tokens of JSON values and makes lines of them. */
export class JsonWriter implements JsonSink {
  readonly #frames: Frame[] = [];
  /** The last lines; those before them are in pieces. */
  readonly #lines: string[] = [];
  readonly #pieces: string[] = [];
  #linesInPieces = 0;
  #unitsKept = 0;
  #needsBreak = false;
  #pathUnits = 0;

  /**
   * @param text that the tokens stand in
   * @param isList whether several values follow each other, as if they were those of a list
   */
  constructor(
    private text: string,
    isList: boolean,
  ) {
    if (isList) this.#frames.push({ ...this.#frame("array", 0, undefined), values: null });
  }

  /** The tokens that follow stand in another text. */
  goOn(text: string): void {
    this.text = text;
  }

  /** A value that cannot be read, as it is written. */
  broken(written: string): void {
    const list = this.#frames.at(-1);
    if (list !== undefined) this.#enter(list);
    this.#needsBreak = true;
    this.#line(written);
    this.#needsBreak = true;
  }

  open(kind: "object" | "array", at: number): void {
    const parent = this.#frames.at(-1);
    if (parent !== undefined) {
      this.#spill(parent);
      this.#enter(parent);
    }
    const frame = this.#frame(kind, at, parent);
    if (frame.mark !== -1 && !frame.isWithinRecord) this.#needsBreak = true;
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
    this.#enter(frame);
    const isShort = value.length <= LIST_VALUE_UNITS_MAX && !value.includes("\n");
    if (frame.values !== null) {
      if (isShort) this.#addToList(frame, frame.values, value);
      else this.#spill(frame);
      if (isShort) return;
    } else if (frame.cells !== null) {
      const cell = `${frame.step}: ${value}`;
      frame.units += cell.length;
      frame.cells.push(cell);
      if (frame.units <= RECORD_LINE_UNITS && !value.includes("\n")) return;
      this.#spill(frame);
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

  /** What was written, in pieces; an empty line stands between paragraphs. */
  pieces(): readonly string[] {
    this.#endPiece(this.#lines.length);
    return this.#pieces;
  }

  #frame(kind: "object" | "array", start: number, parent: Frame | undefined): Frame {
    const isElement = parent?.kind === "array" && kind === "object";
    const isWithinRecord = parent !== undefined && (parent.isWithinRecord || parent.mark !== -1);
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
      mark: isElement ? this.#lineCount() : -1,
      depth: 0,
      hasTurns: false,
    };
  }

  /** The next value of an object or list begins. */
  #enter(frame: Frame): void {
    if (frame.kind === "array") frame.step = String(frame.count);
    frame.count++;
  }

  /** Writes what was held back, once it turns out to be too long for one line. */
  #spill(frame: Frame): void {
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
    const lines = this.#lineCount() - frame.mark;
    if (frame.mark === -1 || lines > TURN_LINES_MAX) return false;
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

  /** The path of the value that is read now. */
  #path(): string {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return "";
    const isShort = this.#pathUnits > PATH_UNITS_MAX;
    const path = isShort ? stepText(frame, true) : frame.path + stepText(frame, frame.path === "");
    this.#pathUnits += path.length;
    return path;
  }

  /** The path of the object or list that begins now, as it stands before the steps within it. */
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

/** What stands before every value within is not as long as a key can be. */
function cutStepText(frame: Frame, isFirst: boolean): string {
  if (frame.step.length <= STEP_UNITS_MAX) return stepText(frame, isFirst);
  return stepText({ ...frame, step: `${frame.step.slice(0, STEP_UNITS_MAX).toWellFormed()}…` }, isFirst);
}
