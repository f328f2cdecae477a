// Interprets the annotations of a page: form fields, and what people have added to it (ISO 32000-1, 12.5). Links are
// left out, and so is what a viewer does not show. pdfjs.ts reads the annotations.

import { isRecord } from "../../kit/record.ts";
import { commentText } from "../text-writer.ts";
import type { Field } from "./fields.ts";

/** A comment or text that was added to a page, in the coordinates of runs. */
export interface PageNote {
  readonly left: number;
  readonly top: number;
  readonly bottom: number;
  /** The text as it is written into the document. */
  readonly text: string;
}

/** The area of an annotation, in the coordinates of runs. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Maximum number of annotations of a page that are read, and maximum length of their texts in UTF-16 code units. */
export const ANNOTATIONS_MAX = 10_000;
const TEXT_UNITS_MAX = 20_000;
const NAME_UNITS_MAX = 200;
/** Flags of annotations that are not shown: hidden, and not shown on a screen. */
const HIDDEN = 2;
const NO_VIEW = 32;
const MARKUP = new Set(
  "Text Highlight Underline Squiggly StrikeOut Caret Stamp Ink Square Circle Line Polygon PolyLine FileAttachment".split(
    " ",
  ),
);

type Annotation = Readonly<Record<string, unknown>>;

/** The field that an annotation shows; null if it shows none, or one without a value. */
export function fieldOf(annotation: Annotation, area: Area): Field | null {
  if (annotation.subtype !== "Widget" || isHidden(annotation) || annotation.password === true) return null;
  const value = shownValue(annotation);
  if (value === "") return null;
  return { ...area, value, isButton: annotation.fieldType === "Btn", alone: aloneOf(annotation, value) };
}

/** A value with the name of its field, for fields without a label. Of radio buttons, only the chosen one is written. */
function aloneOf(annotation: Annotation, value: string): string {
  const name = nameOf(annotation);
  const lead = name === "" ? "" : `${name}: `;
  if (annotation.radioButton !== true) return `${lead}${value}`;
  return value === "☑" ? `${lead}${textOf(annotation.buttonValue)}` : "";
}

function shownValue(annotation: Annotation): string {
  const { fieldType, fieldValue } = annotation;
  if (fieldType === "Btn") {
    const shown = annotation.checkBox === true ? annotation.exportValue : annotation.buttonValue;
    if (annotation.checkBox !== true && annotation.radioButton !== true) return "";
    return typeof shown === "string" && fieldValue === shown ? "☑" : "☐";
  }
  if (fieldType === "Ch") {
    const options = Array.isArray(annotation.options) ? (annotation.options as readonly unknown[]) : [];
    const values = (Array.isArray(fieldValue) ? (fieldValue as readonly unknown[]) : [fieldValue]).map(textOf);
    const shown = values.map((value) => {
      const option = options.find((each) => isRecord(each) && textOf(each.exportValue) === value);
      return isRecord(option) ? textOf(option.displayValue) : value;
    });
    return shown.filter((value) => value !== "").join(", ");
  }
  return fieldType === "Tx" ? textOf(fieldValue) : "";
}

/** The description of a field, else the last part of its name: `f1_full-name[0]` is `f1 full name`. */
function nameOf({ alternativeText, fieldName }: Annotation): string {
  const description = textOf(alternativeText).slice(0, NAME_UNITS_MAX);
  if (description !== "") return description.replace(/\s*:$/, "");
  const last = textOf(fieldName).split(".").at(-1) ?? "";
  return last
    .replace(/\[\d+\]/g, "")
    .replace(/[_-]+/g, " ")
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .trim()
    .slice(0, NAME_UNITS_MAX);
}

/** The note that an annotation holds; null if it holds none. */
export function noteOf(annotation: Annotation, { left, top, bottom }: Area): PageNote | null {
  if (isHidden(annotation)) return null;
  const plain = textOf(isRecord(annotation.contentsObj) ? annotation.contentsObj.str : annotation.contents);
  // programs may write formatted text only
  const content = plain === "" && isRecord(annotation.richText) ? textOf(annotation.richText.str) : plain;
  const lines = Array.isArray(annotation.textContent) ? (annotation.textContent as readonly unknown[]).map(textOf) : [];
  if (annotation.subtype === "FreeText") {
    const text = content === "" ? lines.join(" ").trim() : content;
    return text === "" ? null : { left, top, bottom, text };
  }
  // the state of a comment, such as "Accepted", is no comment
  if (!MARKUP.has(String(annotation.subtype)) || content === "" || annotation.stateModel != null) return null;
  const author = textOf(isRecord(annotation.titleObj) ? annotation.titleObj.str : "").slice(0, NAME_UNITS_MAX);
  return { left, top, bottom, text: commentText(author, content) };
}

function isHidden({ annotationFlags, hidden }: Annotation): boolean {
  const flags = typeof annotationFlags === "number" ? annotationFlags : 0;
  return hidden === true || (flags & (HIDDEN | NO_VIEW)) !== 0;
}

/** A text of a file on one line. */
function textOf(value: unknown): string {
  if (typeof value !== "string") return "";
  return value
    .slice(0, TEXT_UNITS_MAX)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[\p{Cf}\ufffe\uffff]/gu, "")
    .trim();
}
