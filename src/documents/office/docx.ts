// Reads a Word document (DOCX; ECMA-376-1, transitional or strict): its body with notes and comments, then its headers
// and footers. docx-body.ts interprets the elements.

import { ReadFailure } from "../../ports/document-reader.ts";
import type { ReadDocument } from "../document.ts";
import { BlockList, TextWriter } from "../text-writer.ts";
import { FlowReader, NoteMarks, NoteReader, type WordContext, type WordNote } from "./docx-body.ts";
import { Numbering } from "./docx-numbering.ts";
import { readNoteFormats } from "./docx-settings.ts";
import { readStyles } from "./docx-styles.ts";
import { type OfficePackage, officeReader, targetsOf } from "./package.ts";
import { relatedBlocks } from "./related-blocks.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** Reads a DOCX file, see `officeReader`. */
export const readDocx = officeReader(wordText);

function wordText(document: OfficePackage): ReadDocument | ReadFailure {
  const part = document.documentPart("word/document.xml");
  const related = document.relationships(part);
  const partOf = (type: string) => related.find((each) => each.type === type)?.target ?? null;
  const targets = targetsOf(related);
  const sections: { readonly kind: "header" | "footer"; readonly id: string }[] = [];
  const context: WordContext = {
    budget: document.budget,
    styleOf: readStyles(document, partOf("styles")),
    numbering: new Numbering(document, partOf("numbering")),
    notes: new Map(),
    marks: new NoteMarks(readNoteFormats(document, partOf("settings"))),
    section: (kind, id) => sections.push({ kind, id }),
    related: relatedBlocks(document, targets),
  };
  const notes = new Map<string, WordNote>();
  for (const kind of ["footnote", "endnote", "comment"] as const) {
    const reader = new NoteReader(kind, context);
    document.read(partOf(`${kind}s`) ?? "", "w", reader);
    for (const [key, note] of reader.notes) notes.set(key, note);
  }
  const writer = new TextWriter(document.budget);
  const body = new BodyReader({ ...context, notes }, writer);
  document.read(part, "w", body);
  if (!body.wasFound) {
    return new ReadFailure("unreadable_document", `The file is damaged: its part ${part} is no Word document.`);
  }
  const written = new Set<string>();
  for (const { kind, id } of sections) {
    const target = targets.get(id);
    if (target === undefined || written.has(target)) continue;
    written.add(target);
    const text = textOfMargin(document, target, context);
    // sections often repeat the headers of the sections before
    if (text !== "" && !written.has(`${kind}: ${text}`)) writer.write({ text: `[${kind}: ${text}]`, series: MARGINS });
    written.add(`${kind}: ${text}`);
  }
  return writer.document(document.title());
}

/** The series of all headers and footers. */
const MARGINS = {};
/** Matches a line that has only the number of a page, which is different on each page. */
const PAGE_NUMBER =
  /^(?:(?:page|pages?|seite|página|pagina|pág\.?|pag\.?|strona|strana|str\.?|p\.|s\.|стр\.?|страница|sida|side|sivu|oldal|sayfa|pg\.?|第)\s?)?[-–—]?\s?\d{1,3}\s?(?:(?:\/|of|von|de|sur|di|van|av|af|z|из|iz)\s?\d{1,4})?\s?(?:[-–—]|页|頁|ページ)?$/iu;

/** The text of a header or footer; empty if it has only a page number. */
function textOfMargin(document: OfficePackage, part: string, context: WordContext): string {
  const list = new BlockList();
  const flow = new FlowReader({ ...context, related: () => [] }, list);
  const isRoot = (name: string) => name === "w:hdr" || name === "w:ftr";
  document.read(part, "w", {
    open: (name, attributes) => (isRoot(name) ? undefined : flow.open(name, attributes)),
    close: (name) => (isRoot(name) ? flow.end() : flow.close(name)),
    text: (text) => flow.text(text),
  });
  const lines = list.blocks.map(({ text }) => text).filter((text) => !PAGE_NUMBER.test(text));
  return lines.join("\n");
}

/**
 * Passes on only the elements of the body. The part may contain other elements outside the body, such as a background.
 */
class BodyReader implements XmlHandler {
  wasFound = false;
  readonly #flow: FlowReader;
  #isOpen = false;

  constructor(context: WordContext, writer: TextWriter) {
    this.#flow = new FlowReader(context, writer);
  }

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#isOpen) return this.#flow.open(name, attributes);
    if (name !== "w:body") return undefined;
    this.#isOpen = true;
    this.wasFound = true;
    return undefined;
  }

  close(name: string): void {
    if (!this.#isOpen) return;
    if (name === "w:body") {
      this.#flow.end();
      this.#isOpen = false;
    } else this.#flow.close(name);
  }

  text(text: string): void {
    if (this.#isOpen) this.#flow.text(text);
  }
}
