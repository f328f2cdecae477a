// Parses an XML part and reports its elements under fixed names. The names do not depend on the prefixes in the file or
// on whether it uses the transitional or strict namespaces.

import { Parser } from "htmlparser2";
import { type Budget, refuse } from "../budget.ts";

/**
 * Attributes of an element. An attribute has its local name if it is in the namespace of the element or in none, else a
 * name with a fixed prefix, such as `r:id`.
 */
export type Attributes = Readonly<Record<string, string>>;

/** Whether an on/off property (ECMA-376-1, 17.17.4) is on. Without a value, it is. */
export function isOn({ val = "1" }: Attributes): boolean {
  return !/^(?:0|false|off|none)$/.test(val);
}

/** Whether the value of an attribute that is off by default is on. */
export function isSet(value: string | undefined): boolean {
  return value !== undefined && /^(?:1|true|on)$/.test(value);
}

/** Receives the elements of a part. Their names are like `w:p`, whatever prefix the file uses. */
export interface XmlHandler {
  /** Returns `skip` if the content and the end of the element should not be passed. */
  open(name: string, attributes: Attributes): "skip" | undefined;
  close(name: string): void;
  /** A run of text may be passed in several pieces. */
  text(text: string): void;
}

/** A part to read. */
export interface XmlPart {
  readonly name: string;
  readonly pieces: Iterable<Uint8Array>;
  /** Namespace that is assumed for elements without a namespace, because some programs omit it. */
  readonly family: Family;
}

const FAMILIES = {
  w: [
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
  ],
  x: ["http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://purl.oclc.org/ooxml/spreadsheetml/main"],
  p: ["http://schemas.openxmlformats.org/presentationml/2006/main", "http://purl.oclc.org/ooxml/presentationml/main"],
  a: ["http://schemas.openxmlformats.org/drawingml/2006/main", "http://purl.oclc.org/ooxml/drawingml/main"],
  m: ["http://schemas.openxmlformats.org/officeDocument/2006/math", "http://purl.oclc.org/ooxml/officeDocument/math"],
  r: [
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "http://purl.oclc.org/ooxml/officeDocument/relationships",
  ],
  dgm: ["http://schemas.openxmlformats.org/drawingml/2006/diagram", "http://purl.oclc.org/ooxml/drawingml/diagram"],
  c: ["http://schemas.openxmlformats.org/drawingml/2006/chart", "http://purl.oclc.org/ooxml/drawingml/chart"],
  cdr: [
    "http://schemas.openxmlformats.org/drawingml/2006/chartDrawing",
    "http://purl.oclc.org/ooxml/drawingml/chartDrawing",
  ],
  cx: ["http://schemas.microsoft.com/office/drawing/2014/chartex"],
  xdr: [
    "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing",
    "http://purl.oclc.org/ooxml/drawingml/spreadsheetDrawing",
  ],
  w14: ["http://schemas.microsoft.com/office/word/2010/wordml"],
  mc: ["http://schemas.openxmlformats.org/markup-compatibility/2006"],
  rel: ["http://schemas.openxmlformats.org/package/2006/relationships"],
  dc: ["http://purl.org/dc/elements/1.1/"],
  office: ["urn:oasis:names:tc:opendocument:xmlns:office:1.0"],
  text: ["urn:oasis:names:tc:opendocument:xmlns:text:1.0"],
  table: ["urn:oasis:names:tc:opendocument:xmlns:table:1.0"],
  draw: ["urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"],
  style: ["urn:oasis:names:tc:opendocument:xmlns:style:1.0"],
  presentation: ["urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"],
  svg: ["urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"],
  manifest: ["urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"],
  math: ["http://www.w3.org/1998/Math/MathML"],
  opf: ["http://www.idpf.org/2007/opf"],
  ocf: ["urn:oasis:names:tc:opendocument:xmlns:container"],
  ncx: ["http://www.daisy.org/z3986/2005/ncx/"],
  p188: ["http://schemas.microsoft.com/office/powerpoint/2018/8/main"],
  tc: ["http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"],
} as const;

/** Short name of a namespace. It stands for both the transitional and the strict form. */
export type Family = keyof typeof FAMILIES;

const FAMILY_OF = new Map<string, Family>(
  Object.entries(FAMILIES).flatMap(([family, names]) => names.map((name) => [name, family as Family] as const)),
);
/** Families of formats whose programs declare document types. The entities that a type declares are never read. */
const MAY_DECLARE_TYPE: ReadonlySet<Family> = new Set(["office", "math", "opf", "ocf"]);
/** Prefix that stands for all other namespaces. */
const OTHER = "?";

/**
 * Passes the elements of a part to the handler. Repairs broken nesting. Keeps one element in memory. Of several
 * alternatives (`mc:AlternateContent`), it passes on the first one only.
 * @returns whether the part has any element
 * @throws ReadFailure if the part is cut off, exceeds the budget, or declares a document type (and so entities) that
 *   its family does not declare (MAY_DECLARE_TYPE)
 */
export function readXml(part: XmlPart, handler: XmlHandler, budget: Budget): boolean {
  const reader = new PartReader(part, handler, budget);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => reader.open(name, attributes),
      onclosetag: () => reader.close(),
      ontext: (text) => reader.text(text),
      onprocessinginstruction: (name) => reader.instruction(name),
    },
    { xmlMode: true },
  );
  for (const text of decodedXml(part.pieces)) {
    parser.write(text);
    budget.checkTime();
  }
  if (reader.isOpen) refuse(`The file is damaged: its part ${part.name} is cut off.`);
  parser.end();
  return reader.hasElements;
}

function* decodedXml(pieces: Iterable<Uint8Array>): Generator<string> {
  let decoder: TextDecoder | null = null;
  for (const piece of pieces) {
    decoder ??= new TextDecoder(encodingOf(piece));
    yield decoder.decode(piece, { stream: true });
  }
  if (decoder !== null) yield decoder.decode();
}

/** XML is UTF-8 or UTF-16 in Office documents (ECMA-376-2, 6.4); the first character is a byte order mark or `<`. */
function encodingOf([first, second]: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return "utf-16le";
  return (first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c) ? "utf-16be" : "utf-8";
}

class PartReader {
  hasElements = false;
  readonly #names: Names;
  readonly #open: string[] = [];
  /** Depth of the skipped element; 0 if there is none. */
  #skipped = 0;
  /** For each open `mc:AlternateContent`, outermost first: whether an alternative was passed on. */
  readonly #hasChosen: boolean[] = [];

  constructor(
    private readonly part: XmlPart,
    private readonly handler: XmlHandler,
    private readonly budget: Budget,
  ) {
    this.#names = new Names(part.family);
  }

  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  open(raw: string, attributes: Attributes): void {
    this.hasElements = true;
    const depth = this.#open.length + 1;
    this.budget.checkDepth(depth, this.part.name);
    this.#names.enter(depth, attributes);
    const name = this.#names.ofElement(raw);
    this.#open.push(name);
    if (this.#skipped > 0) return;
    const isPassedOver =
      name === "mc:AlternateContent"
        ? this.#hasChosen.push(false) < 1
        : name === "mc:Choice" || name === "mc:Fallback"
          ? this.#isAnotherChoice()
          : this.handler.open(name, this.#names.ofAttributes(raw, attributes)) === "skip";
    if (isPassedOver) this.#skipped = depth;
  }

  close(): void {
    const depth = this.#open.length;
    const name = this.#open.pop();
    this.#names.leave(depth);
    if (name === undefined) return;
    if (this.#skipped > 0) {
      if (this.#skipped === depth) this.#skipped = 0;
    } else if (name === "mc:AlternateContent") this.#hasChosen.pop();
    else if (name !== "mc:Choice" && name !== "mc:Fallback") this.handler.close(name);
  }

  text(text: string): void {
    if (this.#skipped === 0 && this.#open.length > 0) this.handler.text(text);
  }

  instruction(name: string): void {
    if (!/^!doctype/i.test(name) || MAY_DECLARE_TYPE.has(this.part.family)) return;
    refuse(`The file is damaged: its part ${this.part.name} declares a document type, as no Office document does.`);
  }

  #isAnotherChoice(): boolean {
    const last = this.#hasChosen.length - 1;
    const hasChosen = this.#hasChosen[last] ?? false;
    if (last >= 0) this.#hasChosen[last] = true;
    return hasChosen;
  }
}

/** Resolves the names of elements and attributes in the file to fixed names. */
class Names {
  /** Namespaces by prefix, innermost last; the empty prefix is the default namespace. */
  readonly #families = new Map<string, string[]>();
  readonly #declared: { readonly depth: number; readonly prefix: string }[] = [];
  readonly #elements = new Map<string, string>();

  constructor(private readonly unnamed: Family) {}

  enter(depth: number, attributes: Attributes): void {
    for (const key in attributes) {
      if (!key.startsWith("xmlns")) continue;
      const prefix = key === "xmlns" ? "" : key.slice("xmlns:".length);
      const families = this.#families.get(prefix);
      const family = FAMILY_OF.get((attributes[key] ?? "").trim()) ?? OTHER;
      if (families === undefined) this.#families.set(prefix, [family]);
      else families.push(family);
      this.#declared.push({ depth, prefix });
      this.#elements.clear();
    }
  }

  leave(depth: number): void {
    for (let last = this.#declared.at(-1); last?.depth === depth; last = this.#declared.at(-1)) {
      this.#declared.pop();
      this.#families.get(last.prefix)?.pop();
      this.#elements.clear();
    }
  }

  ofElement(raw: string): string {
    const known = this.#elements.get(raw);
    if (known !== undefined) return known;
    const name = `${this.#familyOf(raw)}:${raw.slice(raw.indexOf(":") + 1)}`;
    this.#elements.set(raw, name);
    return name;
  }

  ofAttributes(element: string, attributes: Attributes): Attributes {
    let renamed: Record<string, string> | null = null;
    for (const key in attributes) {
      const value = attributes[key];
      if (!key.includes(":") || value === undefined) continue;
      renamed ??= { ...attributes };
      const [family, local] = [this.#familyOf(key), key.slice(key.indexOf(":") + 1)];
      renamed[family === this.#familyOf(element) ? local : `${family}:${local}`] = value;
    }
    return renamed ?? attributes;
  }

  #familyOf(raw: string): string {
    const colon = raw.indexOf(":");
    const prefix = colon === -1 ? "" : raw.slice(0, colon);
    const family = this.#families.get(prefix)?.at(-1);
    if (family !== undefined) return family;
    // the prefix is not declared, so its usual meaning is assumed
    if (prefix === "") return this.unnamed;
    return Object.hasOwn(FAMILIES, prefix) ? prefix : OTHER;
  }
}
