// Writes the values of form fields into the text of a page: each beside its label, as a viewer shows it. pdfjs.ts reads
// the fields.

import type { Run } from "./runs.ts";

/** A form field, in the coordinates of runs. */
export interface Field {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** What the field shows; `☑` or `☐` for a check box or radio button. */
  readonly value: string;
  readonly isButton: boolean;
  /** What is written if the page has no label: the value with the description or name of the field in the file. */
  readonly alone: string;
}

/** Maximum distance between a field and its label: at the left, at the right of a button, and above, in font sizes. */
const LEFT_MAX = 18;
const RIGHT_MAX = 2.5;
const ABOVE_MAX = 1.6;
/** Maximum number of comparisons of a page; a tax form has 60,000. On larger pages, values stand without labels. */
const COMPARISONS_MAX = 4_000_000;
/** Font size of a value without a label, in points. */
const SIZE = 10;
/** Matches a typed line on which people fill in a form by hand. */
const BLANK_LINE = /\s*(?:_{2,}|\.{3,}|…+)[\s_.…]*$/;

/** The run that is the label of a field, and on which side of the field it is. */
interface Label {
  readonly run: Run;
  readonly side: "left" | "right" | "above";
}

/** The runs of a page with the values of its fields. */
export function withFieldValues(runs: readonly Run[], fields: readonly Field[]): readonly Run[] {
  const behind = new Map<Run, Run>();
  const before = new Map<Run, Run>();
  const alone: Run[] = [];
  const texts = runs.filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
  const isSmall = fields.length * (texts.length + fields.length) <= COMPARISONS_MAX;
  for (const field of fields) {
    const label = isSmall ? labelOf(field, texts, fields) : null;
    if (label !== null && label.side === "right" && !before.has(label.run)) {
      const { run } = label;
      const width = 0.9 * run.size;
      before.set(run, {
        ...run,
        text: field.value,
        left: run.left - width - 0.2 * run.size,
        right: run.left - 0.2 * run.size,
      });
    } else if (label !== null && label.side !== "right" && !behind.has(label.run)) {
      const { run } = label;
      const left = run.right + 0.3 * run.size;
      const mark = /[:：?=]\s*$/.test(run.text.replace(BLANK_LINE, "")) ? "" : ": ";
      const right = left + 0.5 * run.size * (field.value.length + mark.length);
      behind.set(run, { ...run, face: { ...run.face, isBold: false }, text: `${mark}${field.value}`, left, right });
    } else if (field.alone !== "") {
      alone.push(runAlone(field));
    }
  }
  const filled = runs.flatMap((run) => {
    const [first, last] = [before.get(run), behind.get(run)];
    const own = last === undefined ? run : { ...run, text: run.text.replace(BLANK_LINE, "") };
    const close = last?.text.startsWith(":") === true ? { ...last, left: own.right } : last;
    return [first, own, close].filter((each) => each !== undefined);
  });
  return [...filled, ...alone];
}

function runAlone({ alone: text, left, bottom, top }: Field): Run {
  const size = Math.min(SIZE, Math.max(4, bottom - top));
  const baseline = (top + bottom) / 2 + 0.35 * size;
  const face = { isBold: false, isMonospaced: false };
  return { text, left, right: left + 0.5 * size * text.length, baseline, size, face };
}

function labelOf(field: Field, runs: readonly Run[], fields: readonly Field[]): Label | null {
  const middle = (field.top + field.bottom) / 2;
  const best: { left: Run | null; right: Run | null; above: Run | null } = { left: null, right: null, above: null };
  for (const run of runs) {
    const center = run.baseline - 0.35 * run.size;
    const isOnLine = Math.abs(center - middle) < 0.7 * run.size || (center > field.top && center < field.bottom);
    const end = run.right - blankWidth(run);
    if (isOnLine && end <= field.left + 0.5 * run.size && field.left - end < LEFT_MAX * run.size) {
      if (best.left === null || end > best.left.right - blankWidth(best.left)) best.left = run;
    }
    if (isOnLine && run.left >= field.right - 0.3 * run.size && run.left - field.right < RIGHT_MAX * run.size) {
      if (best.right === null || run.left < best.right.left) best.right = run;
    }
    const distance = (field.top - run.baseline) / run.size;
    const isAbove = distance > -0.2 && distance < ABOVE_MAX && run.left < field.right && run.right > field.left;
    if (isAbove && Math.abs(run.left - field.left) < 2 * run.size) {
      if (best.above === null || run.baseline > best.above.baseline) best.above = run;
    }
  }
  if (field.isButton && best.right !== null) return { run: best.right, side: "right" };
  if (best.left !== null && !isBetween(best.left, field, fields)) return { run: best.left, side: "left" };
  return best.above === null || field.isButton ? null : { run: best.above, side: "above" };
}

/** Width of the line to write on at the end of a label. */
function blankWidth({ text, left, right }: Run): number {
  const blank = BLANK_LINE.exec(text)?.[0].length ?? 0;
  return (blank / Math.max(1, text.length)) * (right - left);
}

/** Whether another field stands between a label and a field. */
function isBetween(label: Run, field: Field, fields: readonly Field[]): boolean {
  return fields.some(
    (other) =>
      other !== field &&
      other.left > label.left &&
      other.right <= field.left + 1 &&
      Math.abs(other.top + other.bottom - field.top - field.bottom) < field.bottom - field.top,
  );
}
