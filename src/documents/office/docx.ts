// Reads a Word document (DOCX; ECMA-376-1, transitional or strict): its body with notes and comments, without headers
// and footers. docx-body.ts interprets the elements.

import { ReadFailure } from "../../ports/document-reader.ts";
import type { ReadDocument } from "../document.ts";
import { TextWriter } from "../text-writer.ts";
import { chartBlocks } from "./chart-part.ts";
import { diagramBlocks } from "./diagram.ts";
import { FlowReader, NoteMarks, NoteReader, type WordContext, type WordNote } from "./docx-body.ts";
import { Numbering } from "./docx-numbering.ts";
import { readNoteFormats } from "./docx-settings.ts";
import { readStyles } from "./docx-styles.ts";
import { type OfficePackage, officeReader, targetsOf } from "./package.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** Reads a DOCX file, see `officeReader`. */
export const readDocx = officeReader(wordText);

function wordText(document: OfficePackage): ReadDocument | ReadFailure {
  const part = document.documentPart("word/document.xml");
  const related = document.relationships(part);
  const partOf = (type: string) => related.find((each) => each.type === type)?.target ?? null;
  const targets = targetsOf(related);
  const context: WordContext = {
    budget: document.budget,
    styleOf: readStyles(document, partOf("styles")),
    numbering: new Numbering(document, partOf("numbering")),
    notes: new Map(),
    marks: new NoteMarks(readNoteFormats(document, partOf("settings"))),
    related: (element, id) => {
      const target = targets.get(id);
      if (target === undefined) return [];
      if (element === "a:blip") return document.pictureBlocks(target);
      return element === "dgm:relIds" ? diagramBlocks(document, target) : chartBlocks(document, target);
    },
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
  return writer.document(document.title());
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
