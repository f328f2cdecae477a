// Reads comments on cells: notes (ECMA-376-1, 18.7) and the newer comment threads ([MS-XLSX] 2.1.48).

import { cellOfName } from "../../domain/cell-range.ts";
import { commentText, onOneLine } from "../text-writer.ts";
import type { OfficePackage, Relationship } from "./package.ts";
import { RichText, sheetText } from "./xlsx-text.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/**
 * The comments as text, by row and column of their cell (`7 1`).
 * @param people the part with the names of the authors; null if there is none
 * @throws ReadFailure if a part is damaged
 */
export function readCellNotes(
  document: OfficePackage,
  related: readonly Relationship[],
  people: string | null,
): ReadonlyMap<string, readonly string[]> {
  const notes = new Map<string, string[]>();
  const read = (type: string, reader: NoteReader) => {
    for (const { target } of related.filter((each) => each.type === type)) document.read(target, "x", reader);
    for (const { place, author, text } of reader.notes) {
      const all = notes.get(place) ?? [];
      // each thread is also stored as a note, for programs that do not support threads
      if (author.startsWith("tc=") && all.length > 0) continue;
      all.push(commentText(author.startsWith("tc=") ? "" : author, text));
      notes.set(place, all);
    }
  };
  if (related.some(({ type }) => type === "threadedcomment")) {
    const names = new PersonReader();
    if (people !== null) document.read(people, "tc", names);
    read("threadedcomment", new NoteReader("thread", names.names));
  }
  read("comments", new NoteReader("note", new Map()));
  return notes;
}

interface CellNote {
  readonly place: string;
  readonly author: string;
  readonly text: string;
}

class NoteReader implements XmlHandler {
  readonly notes: CellNote[] = [];
  readonly #authors: string[] = [];
  #place: string | null = null;
  #author = "";
  #text = "";
  #isText = false;
  /** The text of a note; null outside of it. */
  #rich: RichText | null = null;

  constructor(
    private readonly kind: "thread" | "note",
    private readonly names: ReadonlyMap<string, string>,
  ) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#rich !== null) return this.#rich.open(name, attributes);
    switch (name) {
      case "x:author":
        this.#text = "";
        this.#isText = true;
        break;
      case "x:comment":
        this.#begin(attributes.ref, this.#authors[Number(attributes.authorId)] ?? "");
        break;
      case "tc:threadedComment":
        this.#begin(attributes.ref, this.names.get(attributes.personId ?? "") ?? "");
        break;
      case "x:text":
        this.#rich = new RichText();
        break;
      case "tc:text":
        this.#isText = true;
        break;
    }
    return undefined;
  }

  close(name: string): void {
    this.#isText = false;
    if (name === "x:text") {
      this.#text = this.#rich?.take() ?? "";
      this.#rich = null;
    }
    this.#rich?.close(name);
    if (name === "x:author") this.#authors.push(onOneLine(this.#text));
    if (name === "x:comment" || name === "tc:threadedComment") this.#end();
  }

  text(text: string): void {
    this.#rich?.text(text);
    if (this.#isText) this.#text += text;
  }

  #begin(cell: string | undefined, author: string): void {
    const at = cellOfName(cell ?? "");
    this.#place = at === null ? null : `${at.row} ${at.column}`;
    this.#author = author;
    this.#text = "";
  }

  #end(): void {
    const { kind } = this;
    // Excel begins the text of a note with the author's name
    const authorPrefix = `${this.#author}:`;
    const whole = sheetText(this.#text);
    const text = kind === "note" && whole.startsWith(authorPrefix) ? whole.slice(authorPrefix.length).trim() : whole;
    if (this.#place !== null && text !== "") this.notes.push({ place: this.#place, author: this.#author, text });
    this.#place = null;
  }
}

class PersonReader implements XmlHandler {
  /** Names of the authors by id. */
  readonly names = new Map<string, string>();

  open(name: string, { id, displayName = "" }: Attributes): undefined {
    if (name === "tc:person" && id !== undefined) this.names.set(id, onOneLine(displayName));
  }

  close(): void {}

  text(): void {}
}
