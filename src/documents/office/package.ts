// The parts of an Office document and how they refer to each other (Open Packaging Conventions, ECMA-376-2). How parts are
// stored is archive.ts's question, what is in them that of the readers.

import { type Budget, outcomeOf, refuse } from "../budget.ts";
import { Archive } from "../zip/archive.ts";
import { type Attributes, type Family, readXml, type XmlHandler } from "./xml.ts";

/** A reference from one part to another. */
export interface Relationship {
  readonly id: string;
  /** Last word of its type, in lower case: `slide`, `footnotes`. */
  readonly type: string;
  /** Name of the part it leads to, without a slash at its beginning. */
  readonly target: string;
}

/** A document as a set of parts. */
export class OfficePackage {
  readonly #archive: Archive;

  /** @throws ReadFailure when the bytes are no archive that can be read */
  constructor(
    bytes: Uint8Array,
    readonly budget: Budget,
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
   * Tells the elements of a part, none for a part that is not there.
   * @throws ReadFailure when it is damaged or goes beyond the budget
   */
  read(part: string, family: Family, handler: XmlHandler): void {
    if (!this.has(part)) return;
    const pieces = this.#archive.read(part);
    const hasElements = readXml({ name: part, pieces, family }, handler, this.budget);
    if (!hasElements) refuse(`The file is damaged: its part ${part} is no XML.`);
  }

  /**
   * Where the document begins: the part that the package names as its document, else the one that is usually that.
   * @throws ReadFailure when neither is there
   */
  documentPart(usual: string): string {
    const named = this.relationships("").find(({ type }) => type === "officedocument")?.target;
    const part = [named, usual].find((name) => name !== undefined && this.has(name));
    return part ?? refuse(`The file is damaged: its part ${named ?? usual} is missing.`);
  }

  /**
   * The references of a part (`""`: of the whole), those to places outside left out; none where it has no list of them.
   * @throws ReadFailure when the list is damaged or goes beyond the budget
   */
  relationships(part: string): readonly Relationship[] {
    const slash = part.lastIndexOf("/") + 1;
    const list = `${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`;
    const handler = new RelationshipList(part.slice(0, slash));
    if (this.has(list)) readXml({ name: list, pieces: this.#archive.read(list), family: "rel" }, handler, this.budget);
    return handler.relationships;
  }

  /** The title among the properties; null without one. */
  title(): string | null {
    const named = this.relationships("").find(({ type }) => type === "core-properties")?.target;
    const part = [named, "docProps/core.xml"].find((name) => name !== undefined && this.has(name));
    if (part === undefined) return null;
    const properties = new CoreProperties();
    // a text is worth reading without its title; what went beyond the budget does so again with the next part
    outcomeOf(() => readXml({ name: part, pieces: this.#archive.read(part), family: "dc" }, properties, this.budget));
    const title = properties.title.slice(0, TITLE_UNITS_MAX).toWellFormed().replace(/\s+/g, " ").trim();
    return title === "" || UNTITLED.test(title) ? null : title;
  }
}

/** More than any title has. */
const TITLE_UNITS_MAX = 1_000;
/** What programs write when nobody gave a title. */
const UNTITLED =
  /^(?:(?:power ?point[ -]pr[äeé]\w+|document|presentation|untitled|title|slide) ?\d*|microsoft word - .*)$/iu;

/** Where references lead, by their ids. */
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

/** The part that a target leads to from a folder (with a slash at its end). */
function partName(folder: string, target: string): string {
  const path = decodedPath(target.replaceAll("\\", "/").replace(/#.*$/s, ""));
  const names: string[] = [];
  for (const name of (path.startsWith("/") ? path : folder + path).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names.join("/");
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // a percent sign that means itself
  }
}

class CoreProperties implements XmlHandler {
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
