// Converts XML to searchable text. Elements that hold values become lines `path: value`, as in JSON; elements that hold
// prose become paragraphs. Nothing outside of the file is read, and no entity is expanded that the file declares.

import { Parser } from "htmlparser2";
import { ReadFailure } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, type ReadingLimits, refuse } from "../budget.ts";
import { NO_TEXT, type ReadDocument } from "../document.ts";
import { isFormulaNote, MathReader } from "../html/math.ts";
import { readHtml } from "../html/read-html.ts";
import { jsonText } from "../json/json-text.ts";
import { SCRIPT_UNITS_MAX, subscript, superscript } from "../scripts.ts";
import { onOneLine, readable } from "../text-writer.ts";

/** Maximum number of elements and attributes. A tree of this size takes about half a gigabyte of memory. */
const NODES_MAX = 2_000_000;
/** Number of UTF-16 code units that are parsed between two checks of the time. */
const STEP_UNITS = 1024 * 1024;
/** Key of the text of an element that has attributes, too. */
const TEXT = "text";
/** Markup of a page, which feeds have as the text of an element. */
const MARKUP = /<\/?(?:p|br|div|a|li|ul|ol|b|i|em|strong|span|h[1-6]|table|tr|td|img|blockquote|pre|code)\b[^>]*>/i;

/** An element. Its children and texts are in order. */
interface Element {
  readonly name: string;
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly children: (Element | string)[];
  /** Whether the element has text of its own that is not white space. */
  hasText: boolean;
}

/** Reads an XML file. Takes linear time and memory, up to the limits. Never throws because of the content. */
export function readXmlText(
  pieces: Iterable<string>,
  title: string | null,
  limits: ReadingLimits = READING_LIMITS,
): ReadDocument | ReadFailure {
  return outcomeOf(() => {
    const budget = new Budget(limits);
    const { root, declaresEntities, isCutOff } = treeOf(pieces, budget);
    const first = root.children.find((child): child is Element => typeof child !== "string");
    if (first === undefined) return new ReadFailure("unreadable_document", "The file is damaged: it is no XML.");
    const written = { [first.name]: writtenValue(first, budget) };
    const text = jsonText([JSON.stringify(written)]);
    const warnings = [
      ...(declaresEntities ? ["Entities that the file declares were not expanded."] : []),
      ...(isCutOff ? ["The file is cut off: its last elements do not end."] : []),
    ];
    if (!hasText(first)) return new ReadFailure("unreadable_document", NO_TEXT);
    return { pieces: text, title, marks: [], warnings };
  });
}

function treeOf(pieces: Iterable<string>, budget: Budget) {
  const root: Element = { name: "", attributes: [], children: [], hasText: false };
  const open = [root];
  let nodes = 0;
  let declaresEntities = false;
  const count = (added: number) => {
    nodes += added;
    if (nodes > NODES_MAX) {
      refuse(`The file has more than ${NODES_MAX.toLocaleString("en-US")} elements, the limit for a file.`);
    }
  };
  const parser = new Parser(
    {
      onopentag: (raw, given) => {
        budget.checkDepth(open.length, "with its elements");
        const attributes = Object.entries(given)
          .filter(([name, value]) => !isNamespace(name) && value.trim() !== "")
          .map(([name, value]) => [localName(name), value] as const);
        count(1 + attributes.length);
        const element: Element = { name: localName(raw), attributes, children: [], hasText: false };
        open.at(-1)?.children.push(element);
        open.push(element);
      },
      onclosetag: () => {
        if (open.length > 1) open.pop();
      },
      ontext: (text) => {
        const element = open.at(-1);
        if (element === undefined || open.length === 1) return;
        const last = element.children.at(-1);
        budget.addText(text.length);
        if (typeof last === "string") element.children[element.children.length - 1] = last + text;
        else element.children.push(text);
        if (text.trim() !== "") element.hasText = true;
      },
      onprocessinginstruction: (_, data) => {
        if (/<!ENTITY\b/i.test(data)) declaresEntities = true;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += STEP_UNITS) {
      parser.write(piece.slice(at, at + STEP_UNITS));
      budget.checkTime();
    }
  }
  const isCutOff = open.length > 1;
  parser.end();
  return { root, declaresEntities, isCutOff };
}

function isNamespace(name: string): boolean {
  return name === "xmlns" || name.startsWith("xmlns:") || name.startsWith("xsi:") || name === "xml:space";
}

function localName(raw: string): string {
  return raw.slice(raw.indexOf(":") + 1) || raw;
}

function hasText(element: Element): boolean {
  return (
    element.hasText ||
    element.attributes.length > 0 ||
    element.children.some((child) => typeof child !== "string" && hasText(child))
  );
}

/** An element as a value of JSON, whose scalars are texts. */
function writtenValue(element: Element, budget: Budget): unknown {
  const children = element.children.filter((child): child is Element => typeof child !== "string");
  if (children.length === 0 || isProse(element)) {
    const text = proseOf(element, budget);
    if (element.attributes.length === 0) return text;
    return { ...fieldsOf(element.attributes), ...(text === "" ? {} : { [TEXT]: text }) };
  }
  const attributes = fieldsOf(element.attributes);
  // the order matters if elements of one name stand between those of another
  if (isInterleaved(children)) {
    const list = children.map((child) => ({ [child.name]: writtenValue(child, budget) }));
    return Object.keys(attributes).length === 0 ? list : { ...attributes, content: list };
  }
  const fields = new Map<string, unknown>(Object.entries(attributes));
  for (const [name, same] of Map.groupBy(children, (child) => child.name)) {
    // an attribute may have the name of an element
    const values = [
      ...(fields.has(name) ? [fields.get(name)] : []),
      ...same.map((child) => writtenValue(child, budget)),
    ];
    fields.set(name, values.length === 1 ? values[0] : values);
  }
  return Object.fromEntries(fields);
}

/** Whether an element has text of its own between its children. */
function isProse(element: Element): boolean {
  return element.hasText && element.children.some((child) => typeof child !== "string");
}

function isInterleaved(children: readonly Element[]): boolean {
  const ended = new Set<string>();
  let last = "";
  for (const { name } of children) {
    if (name === last) continue;
    if (ended.has(name)) return true;
    ended.add(last);
    last = name;
  }
  return false;
}

function fieldsOf(attributes: Element["attributes"]): Record<string, string> {
  return Object.fromEntries(attributes.map(([name, value]) => [name, onOneLine(value)]));
}

/** The text of an element and of all elements in it. Pages in it, as in feeds, are read like pages. */
function proseOf(element: Element, budget: Budget): string {
  const parts: string[] = [];
  collect(element, parts);
  const text = readable(parts.join(""));
  if (MARKUP.test(text)) {
    const page = readHtml([text], budget.limits);
    budget.checkTime();
    if (!(page instanceof ReadFailure)) return page.pieces.join("");
  }
  return text.includes("\n") ? text.replace(/[ \t]*\n[ \t]*/g, "\n").replace(/([^\n])\n(?!\n)/g, "$1 ") : text;
}

function collect(element: Element, parts: string[]): void {
  for (const [at, child] of element.children.entries()) {
    if (typeof child === "string") parts.push(child);
    else if (child.name === "math") parts.push(formulaOf(child));
    else if (!isScript(child)) collect(child, parts);
    else {
      const own: string[] = [];
      collect(child, own);
      const next = element.children[at + 1];
      const place = {
        before: parts.slice(-PARTS_BEFORE).join(""),
        after: typeof next === "string" ? next.slice(0, SCRIPT_UNITS_MAX) : "",
        isNote: NOTE_REFERENCE.test(element.name),
      };
      const text = own.join("");
      parts.push(LOWERED.test(positionOf(child)) ? subscript(text, place) : superscript(text, place));
    }
  }
}

/** What raises or lowers text in JATS, DocBook, TEI and pages. */
const RAISED = /^(?:sup|superscript|super)$/i;
const LOWERED = /^(?:sub|subscript)$/i;
/** Elements whose raised text is the mark of a note. */
const NOTE_REFERENCE = /^(?:xref|noteref|footnoteref|ref)$/i;
/** Number of parts of a text before a script that are considered. */
const PARTS_BEFORE = 4;

function isScript(element: Element): boolean {
  const position = positionOf(element);
  return RAISED.test(position) || LOWERED.test(position);
}

/** The name of an element, or how a highlighted text is rendered. */
function positionOf({ name, attributes }: Element): string {
  if (name !== "hi" && name !== "emphasis") return name;
  return attributes.find(([attribute]) => attribute === "rend" || attribute === "role")?.[1].trim() ?? name;
}

/** A formula in MathML on one line. */
function formulaOf(math: Element): string {
  const reader = new MathReader();
  const read = (element: Element): void => {
    for (const child of element.children) {
      if (typeof child === "string") reader.text(child);
      else if (!isFormulaNote(child.name)) {
        reader.open(child.name);
        read(child);
        reader.close();
      }
    }
  };
  read(math);
  return reader.result();
}
