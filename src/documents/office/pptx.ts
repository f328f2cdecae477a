// Reads a presentation (PPTX; ECMA-376-1, 19, transitional or strict): its slides in order, each with title, speaker
// notes and comments. pptx-slide.ts reads a slide.

import { ReadFailure } from "../../ports/document-reader.ts";
import { refuse } from "../budget.ts";
import type { ReadDocument } from "../document.ts";
import { TextWriter } from "../text-writer.ts";
import { type OfficePackage, officeReader, targetsOf } from "./package.ts";
import { readAuthors, readComments } from "./pptx-comments.ts";
import { SlideReader } from "./pptx-slide.ts";
import { relatedBlocks } from "./related-blocks.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** Reads a PPTX file, see `officeReader`. */
export const readPptx = officeReader(presentationText);

function presentationText(document: OfficePackage): ReadDocument | ReadFailure {
  const part = document.documentPart("ppt/presentation.xml");
  const presentation = new PresentationReader();
  document.read(part, "p", presentation);
  if (!presentation.wasFound) {
    return new ReadFailure("unreadable_document", `The file is damaged: its part ${part} is no presentation.`);
  }
  const related = document.relationships(part);
  document.budget.checkSlides(presentation.slideIds.length);
  const authors = readAuthors(document, related);
  const targets = targetsOf(related);
  const writer = new TextWriter(document.budget);
  for (const [at, id] of presentation.slideIds.entries()) {
    const slide = targets.get(id);
    if (slide === undefined || !document.has(slide)) refuse(`The file is damaged: its slide ${at + 1} is missing.`);
    writeSlide(document, { number: at + 1, part: slide, authors }, writer);
  }
  return writer.document(document.title());
}

interface Slide {
  /** Slide number, from 1. */
  readonly number: number;
  readonly part: string;
  readonly authors: ReadonlyMap<string, string>;
}

function writeSlide(document: OfficePackage, { number, part, authors }: Slide, writer: TextWriter): void {
  const related = document.relationships(part);
  const slide = new SlideReader(relatedBlocks(document, targetsOf(related)), "slide");
  document.read(part, "p", slide);
  if (!slide.wasFound) refuse(`The file is damaged: its slide ${number} (${part}) is no slide.`);
  const notes = new SlideReader(() => [], "notes");
  document.read(related.find(({ type }) => type === "notesslide")?.target ?? "", "p", notes);
  const comments = readComments(document, related, authors);
  if (slide.title === "" && slide.blocks.length === 0 && notes.blocks.length === 0 && comments.length === 0) return;
  writer.mark({ slide: number });
  writer.write({ text: `## ${slide.title || `Slide ${number}`}`, series: null });
  for (const block of slide.blocks) writer.write(block);
  for (const text of comments) writer.write({ text, series: comments });
  if (notes.blocks.length === 0) return;
  document.budget.addText(notes.blocks.reduce((units, { text }) => units + text.length, 0));
  writer.write({ text: `[notes: ${notes.blocks.map(({ text }) => text).join("\n")}]`, series: null });
}

class PresentationReader implements XmlHandler {
  wasFound = false;
  /** Relationship ids of the slides, in presentation order. */
  readonly slideIds: string[] = [];

  open(name: string, { "r:id": id }: Attributes): undefined {
    if (name === "p:presentation") this.wasFound = true;
    if (name === "p:sldId" && id !== undefined) this.slideIds.push(id);
  }

  close(): void {}

  text(): void {}
}
