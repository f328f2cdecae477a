// Tracks the open elements of a page: inserts missing end tags and ignores end tags without a start (HTML, 13.2.6, as
// far as it affects the text). page-reader.ts interprets the elements.

import type { Attributes } from "./markup.ts";

/** Receives the elements of a page, properly nested. */
export interface ElementHandler {
  /** @returns a value that is passed to `leave` */
  enter(name: string, attributes: Attributes): string;
  leave(name: string, role: string): void;
  /** An element without content, such as `br`. */
  empty(name: string, attributes: Attributes): void;
}

/**
 * Maximum depth of nested elements. Deeper elements are ignored, and their content belongs to the element at this
 * depth. Pages that lack end tags become deep.
 */
const DEPTH_MAX = 10_000;

const EMPTY = setOf(
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr",
);
/** Elements that are ignored, because every page has each of them once. */
const IGNORED = setOf("html head body");
const HEADINGS = setOf("h1 h2 h3 h4 h5 h6");
const LISTS = setOf("ul ol menu dir");
const CELLS = setOf("td th caption");
const TABLE_PARTS = setOf("caption colgroup tbody thead tfoot");
/**
 * Elements that limit the effect of end tags: an end tag does not close elements outside the innermost one of these.
 */
const SCOPES = setOf("table td th caption");
/** Block elements. They end a paragraph, and the end tag of an inline element around them does not close them. */
const BLOCKS = setOf(
  "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul xmp",
);
/** Elements that are not blocks, but whose end tag closes the blocks inside them. */
const CONTAINERS = setOf("audio button canvas math noscript object optgroup option select svg template video");
/** HTML elements whose start tag closes an open SVG or MathML element. */
const BREAKOUT = new Set([
  ...BLOCKS,
  ...setOf("b big br code em i img nobr ruby s small span strong sub sup tt u var"),
]);
/** Elements of SVG and MathML that contain HTML. */
const INTEGRATION = setOf("foreignobject desc title annotation-xml mtext mi mo mn ms");

interface OpenElement {
  readonly name: string;
  readonly role: string;
}

/** The open elements. The cost of a tag is proportional to the elements that it opens and closes. */
export class ElementStack {
  readonly #open: OpenElement[] = [];
  /** Indices of the open elements by name. */
  readonly #places = new Map<string, number[]>();
  readonly #scopes: number[] = [];
  readonly #blocks: number[] = [];
  readonly #lists: number[] = [];

  constructor(private readonly handler: ElementHandler) {}

  /** Whether an element of this name is open. */
  has(name: string): boolean {
    return this.#placeOf(name) !== -1;
  }

  /** Whether the current position is inside SVG or MathML. */
  isForeign(): boolean {
    return this.#foreignPlace() !== -1;
  }

  open(written: string, attributes: Attributes, isSelfClosing: boolean): void {
    const foreign = this.#foreignPlace();
    const name = written === "image" && foreign === -1 ? "img" : written;
    if (IGNORED.has(name)) return;
    if (foreign !== -1 && BREAKOUT.has(name)) this.#closeTo(foreign);
    this.#closeBefore(name);
    if (EMPTY.has(name)) {
      this.handler.empty(name, attributes);
      return;
    }
    if (this.#open.length >= DEPTH_MAX) return;
    this.#push(name, this.handler.enter(name, attributes));
    if (isSelfClosing && this.isForeign()) this.#closeTo(this.#open.length - 1);
  }

  close(name: string): void {
    if (name === "br") this.handler.empty("br", {});
    const place = HEADINGS.has(name) ? this.#lastPlaceOf(HEADINGS) : this.#placeOf(name);
    if (place !== -1 && place >= this.#limitFor(name)) this.#closeTo(place);
    // an end tag `</p>` without an open paragraph makes an empty paragraph
    else if (name === "p") this.handler.leave(name, this.handler.enter(name, {}));
  }

  /** Closes all elements at the end of the page. */
  closeAll(): void {
    this.#closeTo(0);
  }

  /** Index of the innermost element that an end tag of this name cannot close; -1 if there is none. */
  #limitFor(name: string): number {
    if (name === "table") return -1;
    if (name === "tr" || CELLS.has(name) || TABLE_PARTS.has(name)) return this.#placeOf("table");
    const scope = this.#scopes.at(-1) ?? -1;
    if (name === "li") return Math.max(scope, this.#lists.at(-1) ?? -1);
    return BLOCKS.has(name) || CONTAINERS.has(name) ? scope : Math.max(scope, this.#blocks.at(-1) ?? -1);
  }

  /** Closes elements that cannot contain an element of this name. */
  #closeBefore(name: string): void {
    const scope = this.#scopes.at(-1) ?? -1;
    const table = this.#placeOf("table");
    if (TABLE_PARTS.has(name)) {
      if (table !== -1) this.#closeTo(table + 1);
      return;
    }
    if (name === "tr") this.#closeWithin(["tr", "td", "th", "caption"], table);
    else if (name === "td" || name === "th")
      this.#closeWithin(["td", "th", "caption"], Math.max(table, this.#placeOf("tr")));
    else if (name === "li") this.#closeWithin(["li"], Math.max(scope, this.#lists.at(-1) ?? -1));
    else if (name === "dt" || name === "dd") this.#closeWithin(["dt", "dd"], Math.max(scope, this.#placeOf("dl")));
    else if (name === "option" || name === "optgroup") {
      const names = name === "option" ? ["option"] : ["option", "optgroup"];
      this.#closeWithin(names, Math.max(this.#placeOf("select"), this.#placeOf("datalist")));
    } else if (name === "rt" || name === "rp") this.#closeWithin(["rt", "rp"], Math.max(scope, this.#placeOf("ruby")));
    else if (name === "a") this.#closeWithin(["a"], Math.max(scope, this.#blocks.at(-1) ?? -1));
    else if (HEADINGS.has(name) && HEADINGS.has(this.#open.at(-1)?.name ?? "")) this.#closeTo(this.#open.length - 1);
    if (BLOCKS.has(name)) this.#closeWithin(["p"], scope);
  }

  /**
   * Looks up the innermost open element of each name. Of those inside the element at index `limit`, closes the
   * outermost.
   */
  #closeWithin(names: readonly string[], limit: number): void {
    const places = names.map((name) => this.#placeOf(name)).filter((place) => place > limit);
    if (places.length > 0) this.#closeTo(Math.min(...places));
  }

  #push(name: string, role: string): void {
    const place = this.#open.push({ name, role }) - 1;
    const places = this.#places.get(name);
    if (places === undefined) this.#places.set(name, [place]);
    else places.push(place);
    if (SCOPES.has(name)) this.#scopes.push(place);
    if (BLOCKS.has(name)) this.#blocks.push(place);
    if (LISTS.has(name)) this.#lists.push(place);
  }

  #closeTo(place: number): void {
    while (this.#open.length > Math.max(place, 0)) {
      const element = this.#open.pop();
      if (element === undefined) return;
      const { name, role } = element;
      this.#places.get(name)?.pop();
      if (SCOPES.has(name)) this.#scopes.pop();
      if (BLOCKS.has(name)) this.#blocks.pop();
      if (LISTS.has(name)) this.#lists.pop();
      this.handler.leave(name, role);
    }
  }

  #placeOf(name: string): number {
    return this.#places.get(name)?.at(-1) ?? -1;
  }

  #lastPlaceOf(names: Iterable<string>): number {
    let last = -1;
    for (const name of names) last = Math.max(last, this.#placeOf(name));
    return last;
  }

  #foreignPlace(): number {
    const place = Math.max(this.#placeOf("svg"), this.#placeOf("math"));
    return place === -1 || this.#lastPlaceOf(INTEGRATION) > place ? -1 : place;
  }
}

/** The words of a string, as a set. */
export function setOf(names: string): ReadonlySet<string> {
  return new Set(names.split(" "));
}
