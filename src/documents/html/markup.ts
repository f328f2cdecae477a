// Tokenises a page into tags and text. If a comment, a script or a quoted attribute lacks its end, only its beginning
// is lost, not the rest of the page. element-stack.ts builds elements from the tags.

import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";

/** The attributes that page-reader.ts uses, each cut to `ATTRIBUTE_UNITS_MAX`. */
export type Attributes = Readonly<Partial<Record<AttributeName, string>>>;

/** Receives the tags and the text of a page. Names of elements and attributes are in lower case. */
export interface MarkupHandler {
  open(name: string, attributes: Attributes, isSelfClosing: boolean): void;
  close(name: string): void;
  /** Text with character references resolved. A run of text may be passed in several pieces. */
  text(text: string): void;
  /** The raw text of a `title` element. */
  title(text: string): void;
  /** Whether the current position is inside SVG or MathML, where no element contains raw text. */
  isForeign(): boolean;
}

const ATTRIBUTES = [
  ...[
    "alt",
    "alttext",
    "aria-controls",
    "aria-expanded",
    "aria-haspopup",
    "aria-hidden",
    "aria-labelledby",
    "aria-level",
    "aria-valuemax",
    "aria-valuemin",
    "aria-valuenow",
    "aria-valuetext",
    "border",
    "checked",
    "class",
    "colspan",
    "data-bs-target",
    "data-bs-toggle",
    "data-target",
    "data-toggle",
    "encoding",
    "hidden",
    "epub:type",
    "href",
    "id",
    "max",
    "min",
    "open",
  ],
  ...[
    "reversed",
    "role",
    "rowspan",
    "selected",
    "shadowrootmode",
    "src",
    "start",
    "style",
    "type",
    "value",
    "xlink:href",
  ],
] as const;
type AttributeName = (typeof ATTRIBUTES)[number];
const ATTRIBUTE_NAMES: ReadonlySet<string> = new Set(ATTRIBUTES);

/** Number of UTF-16 code units that are kept of an attribute: alternative text is a paragraph at most. */
const ATTRIBUTE_UNITS_MAX = 4_096;
/** Number of UTF-16 code units that are kept of a picture that the page contains: 12 MB of a compressed picture. */
const PICTURE_UNITS_MAX = 16 * 1024 * 1024;
/** Number of UTF-16 code units that are kept of a name: no element has a longer one. */
const NAME_UNITS_MAX = 64;
/** Number of UTF-16 code units that are kept of a title. */
const TITLE_UNITS_MAX = 4_096;
/**
 * Maximum number of passes over a page. Each construct without an end makes another pass over the rest of the page
 * necessary.
 */
const PASSES_MAX = 8;

/** The element whose raw text is the value of a field, which the page shows. */
const FIELD = "textarea";
/** Elements whose content is raw text. The page shows only that of `FIELD` (browsers show `title` elsewhere). */
const RAW = new Set(["script", "style", "iframe", "noembed", "noframes", FIELD, "title"]);

/** The rest of a page that the next pass reads. */
interface Rest {
  readonly pieces: readonly string[];
  /** If the rest begins inside a raw element without an end tag, the name of this element; else null. */
  readonly raw: string | null;
  /** Whether a raw element without an end tag was found. In later passes, every raw element ends at the next tag. */
  readonly isRecovering: boolean;
}

/**
 * Passes the tags and text of a page to the handler. Takes linear time.
 * @param pieces their concatenation is the page
 * @param eachPiece called after every piece
 */
export function readMarkup(pieces: readonly string[], handler: MarkupHandler, eachPiece: () => void): void {
  let rest: Rest | null = { pieces, raw: null, isRecovering: false };
  for (let pass = 0; pass < PASSES_MAX && rest !== null; pass++) rest = new MarkupPass(rest, handler).read(eachPiece);
}

class MarkupPass implements TokenizerCallbacks {
  readonly #pieces: readonly string[];
  /** Index of the current piece, and its offset in the page. */
  #piece = 0;
  #base = 0;
  #tag: { name: string; attributes: Partial<Record<AttributeName, string>> } | null = null;
  #attribute: AttributeName | null = null;
  #value = "";
  #raw: { readonly name: string; readonly from: number } | null = null;
  #title: string[] = [];
  #titleUnits = 0;
  /** Offset of an open tag or comment; null if none is open. */
  #unendedFrom: number | null = null;

  constructor(
    private readonly rest: Rest,
    private readonly handler: MarkupHandler,
  ) {
    this.#pieces = rest.pieces;
    if (rest.raw !== null) this.#raw = { name: rest.raw, from: 0 };
  }

  /** @returns the rest for the next pass; null if no further pass is needed */
  read(eachPiece: () => void): Rest | null {
    const tokenizer = new Tokenizer({}, this);
    for (const [at, piece] of this.#pieces.entries()) {
      this.#piece = at;
      tokenizer.write(piece);
      eachPiece();
      if (at < this.#pieces.length - 1) this.#base += piece.length;
    }
    tokenizer.end();
    const { isRecovering } = this.rest;
    if (this.#unendedFrom !== null) {
      const end = this.#positionOf(">", this.#unendedFrom);
      return end === null ? null : { pieces: this.#piecesFrom(end + 1), raw: null, isRecovering };
    }
    if (this.#raw === null || isRecovering) {
      this.#endRaw();
      return null;
    }
    return { pieces: this.#piecesFrom(this.#raw.from), raw: this.#raw.name, isRecovering: true };
  }

  isInForeignContext(): boolean {
    return this.rest.isRecovering || this.handler.isForeign();
  }

  onopentagname(start: number, end: number): void {
    if (this.rest.isRecovering) this.#endRaw();
    this.#unendedFrom = start;
    this.#tag = { name: this.#nameAt(start, end), attributes: {} };
  }

  onattribname(start: number, end: number): void {
    const name = this.#nameAt(start, end);
    if (/^<[a-z]/.test(name)) {
      // the open tag has no end: here another tag begins
      this.#endTag(start, false);
      this.#tag = { name: name.slice(1), attributes: {} };
    }
    this.#attribute = isAttributeName(name) ? name : null;
    this.#value = "";
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute === null) return;
    const beginning = this.#value === "" ? this.#slice(start, Math.min(end, start + 11)) : this.#value.slice(0, 11);
    const isPicture = this.#attribute === "src" && beginning.toLowerCase() === "data:image/";
    const unitsMax = isPicture ? PICTURE_UNITS_MAX : ATTRIBUTE_UNITS_MAX;
    if (this.#value.length < unitsMax) this.#value += this.#slice(start, Math.min(end, start + unitsMax));
  }

  onattribentity(point: number): void {
    if (this.#attribute !== null && this.#value.length < ATTRIBUTE_UNITS_MAX)
      this.#value += String.fromCodePoint(point);
  }

  onattribend(): void {
    if (this.#attribute !== null && this.#tag !== null) this.#tag.attributes[this.#attribute] ??= this.#value;
    this.#attribute = null;
  }

  onopentagend(end: number): void {
    this.#endTag(end + 1, false);
  }

  onselfclosingtag(end: number): void {
    this.#endTag(end + 1, true);
  }

  onclosetag(start: number, end: number): void {
    const name = this.#nameAt(start, end);
    if (this.#raw !== null) {
      const isOwnEnd = this.#raw.name === name;
      if (!isOwnEnd && !this.rest.isRecovering) return;
      this.#endRaw();
      if (isOwnEnd) return;
    }
    this.handler.close(name);
  }

  ontext(start: number, end: number): void {
    this.#text(this.#slice(start, end));
  }

  ontextentity(point: number): void {
    this.#text(String.fromCodePoint(point));
  }

  oncdata(start: number, end: number, endOffset: number): void {
    this.#text(this.#slice(start, end - endOffset));
  }

  oncomment(start: number, end: number): void {
    // a comment that reaches to the end of the page was not closed
    if (end === this.#length()) this.#unendedFrom = start;
  }

  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #text(text: string): void {
    if (this.#raw === null || this.#raw.name === FIELD) this.handler.text(text);
    else if (this.#raw.name === "title" && this.#titleUnits < TITLE_UNITS_MAX) {
      this.#titleUnits += text.length;
      this.#title.push(text.slice(0, TITLE_UNITS_MAX));
    }
  }

  #endTag(from: number, isSelfClosing: boolean): void {
    this.#unendedFrom = null;
    const tag = this.#tag;
    this.#tag = null;
    // this tag is inside raw text that follows a tag without an end
    if (tag === null || this.#raw !== null) return;
    const isRaw = RAW.has(tag.name) && !this.handler.isForeign();
    if (isRaw) this.#raw = { name: tag.name, from };
    if (!isRaw || tag.name === FIELD) this.handler.open(tag.name, tag.attributes, isSelfClosing);
  }

  #endRaw(): void {
    if (this.#raw?.name === "title") this.handler.title(this.#title.join(""));
    if (this.#raw?.name === FIELD) this.handler.close(FIELD);
    this.#raw = null;
    this.#title = [];
    this.#titleUnits = 0;
  }

  #nameAt(start: number, end: number): string {
    return this.#slice(start, Math.min(end, start + NAME_UNITS_MAX)).toLowerCase();
  }

  /** The text `[start, end)` of the page. It must not reach beyond the current piece. */
  #slice(start: number, end: number): string {
    const own = this.#pieces[this.#piece] ?? "";
    if (start >= this.#base) return own.slice(start - this.#base, end - this.#base);
    const parts = [end > this.#base ? own.slice(0, end - this.#base) : ""];
    let base = this.#base;
    for (let at = this.#piece - 1; at >= 0 && start < base; at--) {
      const piece = this.#pieces[at] ?? "";
      base -= piece.length;
      if (end > base) parts.push(piece.slice(Math.max(start - base, 0), end - base));
    }
    return parts.reverse().join("");
  }

  #length(): number {
    return this.#base + (this.#pieces[this.#piece]?.length ?? 0);
  }

  #positionOf(sign: string, from: number): number | null {
    let base = 0;
    for (const piece of this.#pieces) {
      const at = from < base + piece.length ? piece.indexOf(sign, from - base) : -1;
      if (at !== -1) return base + at;
      base += piece.length;
    }
    return null;
  }

  #piecesFrom(from: number): string[] {
    let base = 0;
    const left: string[] = [];
    for (const piece of this.#pieces) {
      if (from < base + piece.length) left.push(from <= base ? piece : piece.slice(from - base));
      base += piece.length;
    }
    return left;
  }
}

function isAttributeName(name: string): name is AttributeName {
  return ATTRIBUTE_NAMES.has(name);
}
