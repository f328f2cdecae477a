// Gives access to the parts of an Office document and their relationships (Open Packaging Conventions, ECMA-376-2).
// zip/archive.ts reads the archive; the readers interpret the parts.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure, UnreadPictures } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, refuse } from "../budget.ts";
import { NO_TEXT, type ReadDocument } from "../document.ts";
import { decodePicture } from "../pictures/decode.ts";
import { descriptionOf, type FilePictures, noPictures, type PictureTexts } from "../recognition.ts";
import { type Block, onOneLine } from "../text-writer.ts";
import { Archive } from "../zip/archive.ts";
import { type Attributes, type Family, readXml, type XmlHandler } from "./xml.ts";

/** A relationship from one part to another. */
export interface Relationship {
  readonly id: string;
  /** Last segment of the relationship type, in lower case: `slide`, `footnotes`. */
  readonly type: string;
  /** Name of the target part, without a leading slash. */
  readonly target: string;
}

/** An Office document, which is a set of parts. */
export class OfficePackage {
  readonly #archive: Archive;

  /** @throws ReadFailure if the bytes are not a readable archive */
  constructor(
    bytes: Uint8Array,
    readonly budget: Budget,
    readonly pictures: PictureTexts = noPictures(),
  ) {
    this.#archive = new Archive(bytes, budget);
  }

  has(part: string): boolean {
    return this.#archive.has(part);
  }

  /** Names of all parts in lower case. */
  names(): Iterable<string> {
    return this.#archive.names();
  }

  /**
   * The bytes of a part; none if it does not exist.
   * @throws ReadFailure if the part is damaged or exceeds the budget
   */
  bytesOf(part: string): Uint8Array {
    return Buffer.concat([...this.#archive.read(part)]);
  }

  /**
   * Passes the elements of a part to the handler. Passes none if the part does not exist.
   * @throws ReadFailure if the part is damaged or exceeds the budget
   */
  read(part: string, family: Family, handler: XmlHandler): void {
    if (!this.has(part)) return;
    const pieces = this.#archive.read(part);
    const hasElements = readXml({ name: part, pieces, family }, handler, this.budget);
    if (!hasElements) refuse(`The file is damaged: its part ${part} is no XML.`);
  }

  /** Whether a part is a picture that is read. */
  isPicture(part: string): boolean {
    return PICTURE.test(part) && this.has(part);
  }

  /** The text of a picture as a block; none if the part is no picture that is read, or shows no text. */
  pictureBlocks(part: string): Block[] {
    if (!this.isPicture(part)) return [];
    const picture = this.pictures.text(part);
    const lines = picture?.lines ?? [];
    const shown = descriptionOf(picture);
    const description: Block[] = shown === null ? [] : [{ text: shown, series: null }];
    if (lines.length === 0) return description;
    const text = `[picture: ${lines.map((line) => onOneLine(line.text)).join("\n")}]`;
    return [{ text, series: null, ocrConfidence: this.pictures.confidence(part) ?? undefined }, ...description];
  }

  /**
   * The name of the main part: the one that the package declares, else the usual name.
   * @throws ReadFailure if neither exists
   */
  documentPart(usual: string): string {
    const named = this.relationships("").find(({ type }) => type === "officedocument")?.target;
    const part = [named, usual].find((name) => name !== undefined && this.has(name));
    return part ?? refuse(`The file is damaged: its part ${named ?? usual} is missing.`);
  }

  /**
   * The relationships of a part (`""` means the package itself), except external ones. Empty if the part has no
   * relationships.
   * @throws ReadFailure if the list is damaged or exceeds the budget
   */
  relationships(part: string): readonly Relationship[] {
    const slash = part.lastIndexOf("/") + 1;
    const list = `${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`;
    const handler = new RelationshipList(part.slice(0, slash));
    if (this.has(list)) readXml({ name: list, pieces: this.#archive.read(list), family: "rel" }, handler, this.budget);
    return handler.relationships;
  }

  /** The title in the document properties; null if there is none. */
  title(): string | null {
    const named = this.relationships("").find(({ type }) => type === "core-properties")?.target;
    const part = [named, "docProps/core.xml"].find((name) => name !== undefined && this.has(name));
    if (part === undefined) return null;
    const properties = new TitleReader();
    // A failure here is ignored, because the text is useful without a title. If the budget is exceeded, reading the
    // next part fails again.
    outcomeOf(() => readXml({ name: part, pieces: this.#archive.read(part), family: "dc" }, properties, this.budget));
    const title = properties.title.slice(0, TITLE_UNITS_MAX).toWellFormed().replace(/\s+/g, " ").trim();
    return title === "" || UNTITLED.test(title) ? null : shortTitle(title);
  }
}

/**
 * Makes a reader of one kind of Office document. Its time and memory are linear in the text, or in the number of filled
 * cells, up to the limits. It never rejects because of the content.
 */
export function officeReader(textOf: (document: OfficePackage) => ReadDocument | ReadFailure) {
  return async (
    bytes: Uint8Array,
    limits = READING_LIMITS,
    pictures: PictureTexts = noPictures(),
  ): Promise<ReadDocument | ReadFailure> => {
    const text = outcomeOf(() => textOf(new OfficePackage(bytes, new Budget(limits), pictures)));
    const { missing } = pictures;
    if (missing.length > 0) return new UnreadPictures(missing);
    if (text instanceof ReadFailure) {
      const hasOnlyPictures = text.message === NO_TEXT && pictures.wereShown;
      return hasOnlyPictures ? new ReadFailure(text.code, pictures.failure("The file has only pictures")) : text;
    }
    const warnings = [...(text.warnings ?? []), ...pictures.pictureWarnings()];
    return warnings.length === 0 ? text : { ...text, warnings };
  };
}

/** Opens the pictures of an Office document, by the names of their parts. @throws ReadFailure */
export async function openOfficePictures(bytes: Uint8Array): Promise<FilePictures> {
  const document = new OfficePackage(bytes, new Budget(READING_LIMITS));
  return {
    async read(part) {
      const picture = document.bytesOf(part);
      const isTiff = /\.tiff?$/i.test(part);
      return isTiff ? (await import("../pictures/tiff.ts")).openTiff(picture).read(0) : decodePicture(picture);
    },
    encoded: async (part) => (/\.tiff?$/i.test(part) ? null : document.bytesOf(part)),
  };
}

/** Names of parts that are pictures. Drawings (EMF, WMF, SVG) are not read. */
const PICTURE = /\.(?:png|jpe?g|tiff?|webp)$/i;

/** Number of UTF-16 code units that are kept of a title. */
const TITLE_UNITS_MAX = 1_000;
/** Matches default titles that programs write. */
const UNTITLED =
  /^(?:(?:power ?point[ -]pr[äeé]\w+|document|presentation|untitled|title|slide) ?\d*|microsoft word - .*)$/iu;

/** Targets of relationships by id. */
export function targetsOf(relationships: readonly Relationship[]): ReadonlyMap<string, string> {
  return new Map(relationships.map(({ id, target }) => [id, target]));
}

class RelationshipList implements XmlHandler {
  readonly relationships: Relationship[] = [];

  constructor(private readonly folder: string) {}

  open(name: string, { Id: id, Type: type = "", Target: target, TargetMode: mode = "" }: Attributes): undefined {
    if (name !== "rel:Relationship" || id === undefined || target === undefined) return;
    if (mode.toLowerCase() === "external") return;
    const word = type.slice(type.lastIndexOf("/") + 1).toLowerCase();
    this.relationships.push({ id, type: word, target: partName(this.folder, target) });
  }

  close(): void {}

  text(): void {}
}

/** Resolves a target relative to a folder (with a trailing slash) to the name of a part. */
function partName(folder: string, target: string): string {
  const path = decodedPath(target.replaceAll("\\", "/").replace(/#.*$/s, ""));
  return withoutDots(path.startsWith("/") ? path : folder + path);
}

/** The path without empty, `.` and `..` steps, from the root of the package. */
export function withoutDots(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names.join("/");
}

/** The path of a reference, without percent escapes. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // a literal percent sign
  }
}

/** Reads the title among the properties of a document. */
export class TitleReader implements XmlHandler {
  title = "";
  #isTitle = false;

  open(name: string): undefined {
    this.#isTitle = name === "dc:title";
  }

  close(): void {
    this.#isTitle = false;
  }

  text(text: string): void {
    if (this.#isTitle) this.title += text;
  }
}
