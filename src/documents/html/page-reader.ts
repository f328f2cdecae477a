// What the elements of a page mean: each becomes text, or a part of a heading, list, table or piece of code. How these are written is
// flow.ts's question, which elements are read visibility.ts's.

import type { Budget } from "../budget.ts";
import {
  alternativeOf,
  formulaOf,
  isDrawn,
  languageOf,
  levelOf,
  numberOf,
  numbersOf,
  spansOf,
} from "./attribute-values.ts";
import { type ElementHandler, setOf } from "./element-stack.ts";
import { Flow, type PageBlock, type PageSink } from "./flow.ts";
import type { Attributes } from "./markup.ts";
import { PageTable } from "./page-table.ts";
import { isMissed, type Scope, shownOf } from "./visibility.ts";

/** Tables inside one another that are read as such: what is deeper is text of their cells. */
const TABLES_MAX = 8;

/** How an element is read; `muted` and `unmuted`: its end changes what is heard. */
type Role =
  | "muted"
  | "unmuted"
  | "inline"
  | "block"
  | "heading"
  | "code"
  | "language"
  | "list"
  | "item"
  | "definitions"
  | "term"
  | "definition"
  | "table"
  | "rows"
  | "row"
  | "cell"
  | "quote"
  | "link"
  | "bold"
  | "raised"
  | "quoted"
  | "annotation";

const ROLES: ReadonlyMap<string, Role> = new Map(
  (
    [
      [
        "block",
        "address article aside caption center details dialog div fieldset figcaption figure footer form header hgroup legend main nav p search section summary optgroup option",
      ],
      ["heading", "h1 h2 h3 h4 h5 h6"],
      ["code", "pre listing xmp plaintext"],
      ["language", "code"],
      ["list", "ul ol menu dir"],
      ["item", "li"],
      ["definitions", "dl"],
      ["term", "dt"],
      ["definition", "dd"],
      ["table", "table"],
      ["rows", "thead tbody tfoot"],
      ["row", "tr"],
      ["cell", "td th"],
      ["quote", "blockquote"],
      ["link", "a"],
      ["bold", "b strong"],
      ["raised", "sup"],
      ["quoted", "q"],
      ["annotation", "rt"],
    ] as const
  ).flatMap(([role, names]) => names.split(" ").map((name) => [name, role] as const)),
);
const CONTENT = setOf("article main section");
/** Signs by which a heading links to itself. */
const PERMALINKS = setOf("# ¶ § 🔗 ⚓ ∞");
/** A number that is raised: an exponent, or the mark of a note. */
const RAISED_NUMBER = /^[-+−]?\d{1,4}$/;
const NOTE_MARK = /^\[?(\d{1,3}|[a-z*†‡§])\]?$/i;

/** A cell that is read. */
interface OpenCell {
  readonly blocks: readonly PageBlock[];
  readonly columns: number;
  readonly rows: number;
  readonly isHeader: boolean;
}

/** Reads elements and texts into blocks. */
export class PageReader implements ElementHandler {
  /** The first main heading; null until there is one. */
  heading: string | null = null;
  /** Characters that are read. */
  shownUnits = 0;
  /** Characters that are left out although they may be missed. */
  lostUnits = 0;
  readonly #flows: Flow[];
  /** Why nothing is heard: how many elements deep, and whether the main heading is heard all the same. */
  #muted: { depth: number; readonly hearsHeading: boolean } | null = null;
  /** Set aside while a main heading is heard within it. */
  #mutedAround: { depth: number; readonly hearsHeading: boolean } | null = null;
  /** Elements around what is muted whose text nobody misses. */
  #unmissed = 0;
  #contents = 0;
  #figures = 0;
  /** The cells that the flows but the first are in. */
  readonly #cells: OpenCell[] = [];
  /** The raised texts that are open: where they begin, and whether a link to elsewhere in the page is in them. */
  readonly #raised: { readonly mark: number; readonly isFirst: boolean; isReference: boolean }[] = [];

  constructor(
    sink: PageSink,
    private readonly budget: Budget,
    private readonly scope: Scope,
  ) {
    this.#flows = [new Flow(sink)];
  }

  enter(name: string, attributes: Attributes): Role {
    if (this.#muted !== null) {
      if (!(this.#muted.hearsHeading && name === "h1")) {
        this.#muted.depth++;
        if (!isMissed(name)) this.#unmissed++;
        return "muted";
      }
      this.#mutedAround = this.#muted;
      this.#muted = null;
      this.#begin("heading", name, attributes);
      return "unmuted";
    }
    const flow = this.#flow;
    const around = {
      isContent: this.#contents > 0,
      isHeading: flow.heading > 0 || flow.isTerm,
      isQuote: flow.quotes > 0 || this.#figures > 0,
    };
    const shown = shownOf(name, attributes, around, this.scope);
    if (shown !== "all") {
      this.#muted = { depth: 1, hearsHeading: shown === "heading" };
      this.#unmissed = isMissed(name) ? 0 : 1;
      return "muted";
    }
    if (CONTENT.has(name)) this.#contents++;
    if (name === "figure") this.#figures++;
    const role = this.#roleOf(name, attributes);
    if (role === "muted") {
      this.#muted = { depth: 1, hearsHeading: false };
      this.#unmissed = 1;
    } else this.#begin(role, name, attributes);
    return role;
  }

  leave(name: string, role: Role): void {
    if (role === "muted") {
      if (this.#muted === null) return;
      if (!isMissed(name)) this.#unmissed--;
      if (--this.#muted.depth === 0) this.#muted = null;
      return;
    }
    if (role === "unmuted") {
      this.#end("heading", name);
      this.#muted = this.#mutedAround;
      this.#mutedAround = null;
      return;
    }
    this.#end(role, name);
    if (CONTENT.has(name)) this.#contents--;
    if (name === "figure") this.#figures--;
  }

  empty(name: string, attributes: Attributes): void {
    if (this.#muted !== null) return;
    const flow = this.#flow;
    const isContent = this.#contents > 0;
    const around = { isContent, isHeading: false, isQuote: false };
    if (shownOf(name, attributes, around, this.scope) !== "all") return;
    if (name === "br") flow.break();
    else if (name === "hr") flow.separate();
    else if (name === "img" && alternativeOf(attributes) !== "") flow.addAlternative(alternativeOf(attributes));
  }

  text(text: string): void {
    if (this.#muted !== null) {
      if (this.#unmissed === 0) this.lostUnits += text.trim().length;
    } else if (this.#flow.add(text)) this.shownUnits += text.trim().length;
  }

  /** Writes what the page leaves open. */
  end(): void {
    this.#flow.separate();
  }

  get #flow(): Flow {
    return this.#flows.at(-1) ?? new Flow(new PageBlocks());
  }

  #roleOf(name: string, attributes: Attributes): Role {
    if (name === "annotation" || name === "annotation-xml" || name === "rp") return "muted";
    if (name === "math" && attributes.alttext !== undefined) {
      this.text(formulaOf(attributes.alttext));
      return "muted";
    }
    const own = ROLES.get(name) ?? "inline";
    const role = attributes.role === "heading" && (own === "block" || own === "inline") ? "heading" : own;
    if (role === "table") return this.#flows.length <= TABLES_MAX ? role : "block";
    const isInTable = this.#flow.tables.length > 0;
    return (role === "rows" || role === "row" || role === "cell") && !isInTable ? "block" : role;
  }

  #begin(role: Role, name: string, attributes: Attributes): void {
    const flow = this.#flow;
    switch (role) {
      case "block":
        flow.separate();
        break;
      case "heading":
        flow.beginHeading(levelOf(name, attributes));
        break;
      case "code":
        flow.beginCode(languageOf(attributes));
        break;
      case "language":
        flow.nameLanguage(languageOf(attributes));
        break;
      case "list":
        flow.beginList(name === "ol" ? numbersOf(attributes) : { kind: "bullets" });
        break;
      case "definitions":
        flow.beginList({ kind: "definitions", terms: [], areExplained: false });
        break;
      case "item":
        flow.beginItem(numberOf(attributes.value));
        break;
      case "term":
        flow.beginTerm();
        break;
      case "definition":
        flow.beginDefinition();
        break;
      case "quote":
        flow.separate();
        flow.quotes++;
        break;
      case "table":
        flow.breakItem();
        flow.hasTable = true;
        flow.tables.push({
          table: new PageTable(flow.sink, this.budget, isDrawn(attributes)),
          cells: null,
          isHead: false,
        });
        break;
      case "rows":
      case "row":
        endRow(flow);
        if (role === "rows") setHead(flow, name === "thead");
        break;
      case "cell": {
        const blocks = new PageBlocks();
        this.#cells.push({ blocks: blocks.blocks, isHeader: name === "th", ...spansOf(attributes) });
        this.#flows.push(new Flow(blocks));
        break;
      }
      default:
        this.#beginInline(flow, role, attributes);
    }
  }

  #beginInline(flow: Flow, role: Role, attributes: Attributes): void {
    switch (role) {
      case "link": {
        const raised = this.#raised.at(-1);
        if (raised !== undefined && attributes.href?.startsWith("#") === true) raised.isReference = true;
        flow.beginLink();
        break;
      }
      case "bold":
        flow.bold++;
        break;
      case "raised":
        this.#raised.push({ mark: flow.line.mark, isFirst: flow.line.last === "", isReference: false });
        break;
      case "quoted":
        flow.add("“");
        break;
      case "annotation":
        flow.add("(");
        break;
    }
  }

  #end(role: Role, name: string): void {
    const flow = this.#flow;
    switch (role) {
      case "block":
        flow.separate();
        break;
      case "heading": {
        const text = flow.endHeading();
        if (name === "h1") this.heading ??= text;
        break;
      }
      case "code":
        flow.endCode();
        break;
      case "list":
      case "definitions":
        flow.endList();
        break;
      case "item":
      case "definition":
        flow.endItem();
        break;
      case "term":
        flow.endTerm();
        break;
      case "quote":
        flow.separate();
        flow.quotes--;
        break;
      case "table":
        endRow(flow);
        flow.tables.pop()?.table.end();
        break;
      case "rows":
      case "row":
        endRow(flow);
        if (role === "rows") setHead(flow, false);
        break;
      case "cell":
        this.#endCell(flow);
        break;
      case "link":
        flow.endLink((text) => PERMALINKS.has(text));
        break;
      case "bold":
        flow.bold--;
        break;
      case "raised":
        this.#endRaised(flow);
        break;
      case "quoted":
        flow.add("”");
        break;
      case "annotation":
        flow.add(")");
        break;
    }
  }

  #endCell(flow: Flow): void {
    const cell = this.#cells.pop();
    if (cell === undefined) return;
    flow.separate();
    this.#flows.pop();
    const open = this.#flow.tables.at(-1);
    if (open === undefined) return;
    const isBold = cell.blocks.length > 0 && (cell.isHeader || flow.isAllBold);
    open.cells ??= [];
    open.cells.push({ ...cell, isBold, hasTable: flow.hasTable });
  }

  /** `10^6` for an exponent, `[1]` for the mark of a note; other texts stay as they are. */
  #endRaised(flow: Flow): void {
    const raised = this.#raised.pop();
    if (raised === undefined || raised.isFirst) return;
    const text = flow.line.since(raised.mark)?.trim() ?? "";
    const mark = raised.isReference ? NOTE_MARK.exec(text)?.[1] : undefined;
    if (mark === undefined && !RAISED_NUMBER.test(text)) return;
    flow.line.cutFrom(raised.mark);
    flow.line.add(mark === undefined ? `^${text}` : `[${mark}]`);
  }
}

/** Collects the blocks of a cell. */
class PageBlocks implements PageSink {
  readonly blocks: PageBlock[] = [];

  write(block: PageBlock): void {
    this.blocks.push(block);
  }
}

function endRow(flow: Flow): void {
  const open = flow.tables.at(-1);
  if (open === undefined || open.cells === null) return;
  open.table.addRow(open.cells, open.isHead);
  open.cells = null;
}

function setHead(flow: Flow, isHead: boolean): void {
  const open = flow.tables.at(-1);
  if (open !== undefined) open.isHead = isHead;
}
