// Reads an EPUB (EPUB 3.3, Open Container Format): the chapters of its spine in order, each read like an HTML page.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { refuse } from "../budget.ts";
import { ENCRYPTED, NO_TEXT, type ReadDocument } from "../document.ts";
import { decoded, encodingOf } from "../encoding/encoding.ts";
import { readPageText } from "../html/read-html.ts";
import { decodedPath, type OfficePackage, officeReader, withoutDots } from "../office/package.ts";
import type { Attributes, XmlHandler } from "../office/xml.ts";
import { onOneLine, TextWriter } from "../text-writer.ts";

/** Reads an EPUB file, see `officeReader`. */
export const readEpub = officeReader(bookText);

const CONTAINER = "META-INF/container.xml";
const ENCRYPTION = "META-INF/encryption.xml";
/** Maximum number of chapters that are named in warnings. */
const NAMED_MAX = 10;

function bookText(archive: OfficePackage): ReadDocument | ReadFailure {
  const container = new ElementList(["ocf:rootfile"]);
  archive.read(CONTAINER, "ocf", container);
  const packagePart = container.found
    .map(({ attributes }) => attributes["full-path"] ?? "")
    .flatMap((path) => [path, decodedPath(path)])
    .find((part) => archive.has(part));
  if (packagePart === undefined) refuse("The file is damaged: the list of its chapters is missing.");
  const opf = new ElementList(["opf:item", "opf:itemref", "dc:title", "dc:creator"]);
  archive.read(packagePart, "opf", opf);
  const folder = packagePart.slice(0, packagePart.lastIndexOf("/") + 1);
  const encrypted = encryptedParts(archive);
  const writer = new TextWriter(archive.budget);
  const title = onOneLine(opf.textOf("dc:title"));
  const author = onOneLine(opf.textOf("dc:creator"));
  if (title !== "" && author !== "") writer.write({ text: `${title} (${author})`, series: null });
  const missing: string[] = [];
  const chapters = chaptersOf(opf, folder);
  if (chapters.length > 0 && chapters.every((part) => encrypted.has(part.toLowerCase()))) {
    return new ReadFailure("unreadable_document", ENCRYPTED);
  }
  let written = 0;
  for (const part of chapters) {
    if (!archive.has(part)) missing.push(`The chapter ${part} is missing.`);
    else if (encrypted.has(part.toLowerCase())) missing.push(`The chapter ${part} is encrypted.`);
    else written += writeChapter(archive, part, writer);
  }
  if (written === 0) return new ReadFailure("unreadable_document", NO_TEXT);
  const read = writer.document(title === "" ? null : shortTitle(title));
  return read instanceof ReadFailure ? read : { ...read, warnings: missing.slice(0, NAMED_MAX) };
}

/** Parts of the chapters in reading order, without the table of contents. */
function chaptersOf(opf: ElementList, folder: string): readonly string[] {
  const items = new Map<string, Attributes>();
  for (const { name, attributes } of opf.found) {
    if (name === "opf:item" && attributes.id !== undefined) items.set(attributes.id, attributes);
  }
  const parts = opf.found.flatMap(({ name, attributes }) => {
    const item = name === "opf:itemref" ? items.get(attributes.idref ?? "") : undefined;
    const isPage = /html|xml/i.test(item?.["media-type"] ?? "html");
    if (item?.href === undefined || !isPage || item.properties?.split(" ").includes("nav") === true) return [];
    return [withoutDots(folder + decodedPath(item.href.replace(/[#?].*$/s, "")))];
  });
  return [...new Set(parts)];
}

function writeChapter(archive: OfficePackage, part: string, writer: TextWriter): number {
  const bytes = archive.bytesOf(part);
  const encoding = encodingOf(bytes, true);
  if (encoding === null) refuse(`The file is damaged: its part ${part} is no text.`);
  const folder = part.slice(0, part.lastIndexOf("/") + 1);
  const page = readPageText(decoded(bytes, encoding), {
    limits: archive.budget.limits,
    pictures: archive.pictures,
    pictureIds: () => (address) => pictureAt(archive, folder, address),
  });
  archive.budget.checkTime();
  if (page instanceof ReadFailure) {
    if (page.message !== NO_TEXT) throw page;
    return 0;
  }
  const text = page.pieces.join("");
  const marks = [{ at: 0 }, ...page.marks];
  let written = 0;
  for (const [number, { at, ...place }] of marks.entries()) {
    const block = text.slice(at, marks[number + 1]?.at).trim();
    if (block === "") continue;
    writer.write({
      text: block,
      series: null,
      ...("ocrConfidence" in place && { ocrConfidence: place.ocrConfidence }),
    });
    written = 1;
  }
  return written;
}

/** The part with a picture that a chapter shows; null if it is none that is read. */
function pictureAt(archive: OfficePackage, folder: string, address: string | undefined): string | null {
  if (address === undefined || /^[a-z][a-z0-9+.-]*:/i.test(address)) return null;
  const part = withoutDots(folder + decodedPath(address.replace(/[#?].*$/s, "")));
  return archive.isPicture(part) ? part : null;
}

/** Names, in lower case, of the parts that are encrypted; fonts usually are. */
function encryptedParts(archive: OfficePackage): ReadonlySet<string> {
  const list = new ElementList(["?:CipherReference"]);
  archive.read(ENCRYPTION, "ocf", list);
  return new Set(list.found.map(({ attributes }) => (attributes.URI ?? "").toLowerCase()));
}

/** Collects the elements with these names, and the first text of each name. */
class ElementList implements XmlHandler {
  readonly found: { readonly name: string; readonly attributes: Attributes }[] = [];
  readonly #texts = new Map<string, string>();
  #open: string | null = null;

  constructor(private readonly names: readonly string[]) {}

  /** The text of the first element with this name. */
  textOf(name: string): string {
    return this.#texts.get(name) ?? "";
  }

  open(name: string, attributes: Attributes): undefined {
    if (!this.names.includes(name)) return;
    this.found.push({ name, attributes });
    this.#open = this.#texts.has(name) ? null : name;
  }

  close(): void {
    this.#open = null;
  }

  text(text: string): void {
    if (this.#open !== null) this.#texts.set(this.#open, `${this.#texts.get(this.#open) ?? ""}${text}`.slice(0, 1_000));
  }
}
