// Reads a presentation of PowerPoint 97 to 2003 (PPT; [MS-PPT]): title, texts and notes of each slide. The file may
// contain former versions of slides, so they are found by the list of the last save.

import { ReadFailure } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, refuse } from "../budget.ts";
import { ENCRYPTED, embeddedWarnings, type ReadDocument } from "../document.ts";
import { ScriptedText } from "../office/scripted-text.ts";
import { onOneLine, readable, TextWriter } from "../text-writer.ts";
import { CompoundFile } from "./compound-file.ts";
import { type PptRecord, recordAt, recordsIn, recordsOfType, runsOf } from "./ppt-records.ts";

const RECORD = {
  document: 1000,
  slide: 1006,
  slideAtom: 1007,
  notes: 1008,
  slidePersist: 1011,
  outlineReference: 3998,
  textHeader: 3999,
  wideText: 4000,
  styles: 4001,
  text: 4008,
  slideList: 4080,
  userEdit: 4085,
  embeddedObject: 4113,
  persistDirectory: 6002,
  textBox: 0xf00d,
} as const;
/** Kinds of slides in lists. */
const SLIDES = 0;
const NOTES = 2;
/** Kinds of texts ([MS-PPT] 2.13.33): titles, the text of notes, and others. */
const TITLES: ReadonlySet<number> = new Set([0, 6]);
const NOTES_BODY = 2;
const OTHER_TEXT = 4;
const ENCRYPTED_TOKEN = 0xf3d1c4df;
/** Maximum number of saves that a file lists. */
const EDITS_MAX = 10_000;

/** Reads a PPT file. Never throws because of the content. */
export function readPpt(bytes: Uint8Array, limits = READING_LIMITS): ReadDocument | ReadFailure {
  return outcomeOf(() => {
    const file = new CompoundFile(bytes);
    const stream = file.stream("PowerPoint Document");
    const user = file.stream("Current User");
    if (stream === null || user === null || user.length < 20) {
      refuse("The file is damaged: its list of slides is missing.");
    }
    if (user.readUInt32LE(12) === ENCRYPTED_TOKEN) refuse(ENCRYPTED);
    return new Presentation(stream, new Budget(limits)).read(user.readUInt32LE(16));
  });
}

/** A text and its kind, such as one of `TITLES`. */
interface SlideText {
  readonly text: string;
  readonly kind: number;
}

/** A slide in a list of slides. */
interface ListedSlide {
  readonly persistId: number;
  readonly slideId: number;
  /** Texts of its placeholders, to which its shapes refer. */
  readonly texts: readonly SlideText[];
}

class Presentation {
  /** Offsets of objects in the stream, by their number. */
  readonly #places = new Map<number, number>();

  constructor(
    private readonly stream: Buffer,
    private readonly budget: Budget,
  ) {}

  read(lastEdit: number): ReadDocument | ReadFailure {
    const documentId = this.#readEdits(lastEdit);
    const document = this.#object(documentId, RECORD.document);
    if (document === null) refuse("The file is damaged: its document is missing.");
    const lists = [...recordsOfType(document.content, RECORD.slideList)];
    const listed = (kind: number) =>
      lists.filter(({ instance }) => instance === kind).flatMap(({ content }) => this.#listedSlides(content));
    const notes = new Map(listed(NOTES).map((each) => [each.slideId, each]));
    const writer = new TextWriter(this.budget);
    const slides = listed(SLIDES);
    this.budget.checkSlides(slides.length);
    for (const [at, slide] of slides.entries()) {
      this.budget.checkTime();
      this.#write(slide, at + 1, notes, writer);
    }
    const read = writer.document(null);
    return read instanceof ReadFailure ? read : { ...read, warnings: embeddedWarnings(this.#embeddedObjects()) };
  }

  #embeddedObjects(): number {
    return [...this.#places.values()].filter((at) => recordAt(this.stream, at)?.type === RECORD.embeddedObject).length;
  }

  #write(slide: ListedSlide, number: number, notes: ReadonlyMap<number, ListedSlide>, writer: TextWriter): void {
    const record = this.#object(slide.persistId, RECORD.slide);
    const shown = record === null ? [] : this.#textsIn(record.content, slide.texts);
    const texts = shown.length > 0 ? shown : slide.texts;
    const title = texts.find(({ kind, text }) => TITLES.has(kind) && text !== "");
    const atom = record === null ? null : [...recordsIn(record.content)].find(({ type }) => type === RECORD.slideAtom);
    const notesId = atom == null || atom.content.length < 20 ? 0 : atom.content.readUInt32LE(16);
    const said = notesId === 0 ? [] : this.#notesOf(notes.get(notesId));
    const others = texts.filter((each) => each !== title && each.text !== "");
    if (title === undefined && others.length === 0 && said.length === 0) return;
    writer.mark({ slide: number });
    if (title !== undefined) writer.write({ text: `## ${onOneLine(title.text)}`, series: null });
    for (const { text } of others) writer.write({ text, series: null });
    if (said.length > 0) writer.write({ text: `[notes: ${said.join("\n")}]`, series: null });
  }

  #notesOf(listed: ListedSlide | undefined): readonly string[] {
    const record = listed === undefined ? null : this.#object(listed.persistId, RECORD.notes);
    if (record === null || listed === undefined) return [];
    const texts = this.#textsIn(record.content, listed.texts);
    return texts.filter(({ kind, text }) => kind === NOTES_BODY && text !== "").map(({ text }) => text);
  }

  /** Reads the lists of objects of all saves, the last one first. @returns the number of the document */
  #readEdits(last: number): number {
    let documentId: number | null = null;
    const seen = new Set<number>();
    for (let at = last; at !== 0 && !seen.has(at) && seen.size < EDITS_MAX; ) {
      seen.add(at);
      const edit = recordAt(this.stream, at);
      if (edit === null || edit.type !== RECORD.userEdit || edit.content.length < 20) break;
      documentId ??= edit.content.readUInt32LE(16);
      const directory = recordAt(this.stream, edit.content.readUInt32LE(12));
      if (directory !== null && directory.type === RECORD.persistDirectory) this.#readDirectory(directory.content);
      at = edit.content.readUInt32LE(8);
    }
    return documentId ?? refuse("The file is damaged: its list of slides cannot be read.");
  }

  #readDirectory(content: Buffer): void {
    for (let at = 0; at + 4 <= content.length; ) {
      const head = content.readUInt32LE(at);
      at += 4;
      const [first, count] = [head & 0xfffff, head >>> 20];
      for (let index = 0; index < count && at + 4 <= content.length; index++, at += 4) {
        // the offset from a later save is already known
        if (!this.#places.has(first + index)) this.#places.set(first + index, content.readUInt32LE(at));
      }
    }
  }

  #object(id: number, type: number): PptRecord | null {
    const place = this.#places.get(id);
    const record = place === undefined ? null : recordAt(this.stream, place);
    return record?.type === type ? record : null;
  }

  #listedSlides(content: Buffer): readonly ListedSlide[] {
    const slides: { persistId: number; slideId: number; records: PptRecord[] }[] = [];
    for (const record of recordsIn(content)) {
      if (record.type === RECORD.slidePersist && record.content.length >= 16) {
        const [persistId, slideId] = [record.content.readUInt32LE(0), record.content.readUInt32LE(12)];
        slides.push({ persistId, slideId, records: [] });
      } else slides.at(-1)?.records.push(record);
    }
    return slides.map(({ persistId, slideId, records }) => ({ persistId, slideId, texts: this.#texts(records) }));
  }

  /** The texts of the shapes of a slide, in their order. @param outline texts to which placeholders refer */
  #textsIn(content: Buffer, outline: readonly SlideText[]): readonly SlideText[] {
    return [...recordsOfType(content, RECORD.textBox)].flatMap((box) => {
      const records = [...recordsIn(box.content)];
      const reference = records.find(({ type }) => type === RECORD.outlineReference);
      if (reference === undefined || reference.content.length < 4) return this.#texts(records);
      return outline[reference.content.readUInt32LE(0)] ?? [];
    });
  }

  #texts(records: readonly PptRecord[]): readonly SlideText[] {
    const texts: SlideText[] = [];
    let kind = OTHER_TEXT;
    let open: string | null = null;
    const end = (styles: Buffer | null) => {
      if (open !== null) texts.push({ text: this.#written(open, styles), kind });
      open = null;
    };
    for (const { type, content } of records) {
      if (type === RECORD.textHeader) {
        end(null);
        kind = content.length < 4 ? OTHER_TEXT : content.readUInt32LE(0);
      } else if (type === RECORD.wideText || type === RECORD.text) {
        end(null);
        open = content.toString(type === RECORD.wideText ? "utf16le" : "latin1");
      } else if (type === RECORD.styles) end(content);
    }
    end(null);
    return texts;
  }

  #written(text: string, styles: Buffer | null): string {
    this.budget.addText(text.length);
    const runs = styles === null ? [] : runsOf(styles, text.length);
    const scripted = new ScriptedText();
    let at = 0;
    for (const { length, position } of runs) {
      scripted.add(text.slice(at, at + length), position);
      at += length;
    }
    scripted.add(text.slice(at), "line");
    return readable(scripted.take());
  }
}
