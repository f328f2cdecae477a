// Interprets the elements of a page: each becomes text, or part of a heading, list, table or code block. flow.ts writes
// the blocks; visibility.ts decides which elements are read.

import type { Budget } from "../budget.ts";
import { descriptionOf, noPictures, type PictureTexts } from "../recognition.ts";
import { continuesWord, ISOTOPE, subscript, superscript } from "../scripts.ts";
import {
  alternativeOf,
  controlledBy,
  fieldValueOf,
  formulaOf,
  gaugeValueOf,
  hasBorder,
  isNoteReference,
  languageOf,
  levelOf,
  numberedListOf,
  numberOf,
  scriptOf,
  spansOf,
  UNCHECKED,
} from "./attribute-values.ts";
import { type ElementHandler, setOf } from "./element-stack.ts";
import { Flow } from "./flow.ts";
import type { Line } from "./line.ts";
import type { Attributes } from "./markup.ts";
import { isFormulaNote, MathReader } from "./math.ts";
import type { PageBlock, PageSink } from "./page-block.ts";
import { PageTable } from "./page-table.ts";
import { numbered, type PictureIds } from "./pictures.ts";
import { isTab, isToggle, mayBeContent, type Scope, visibilityOf } from "./visibility.ts";

/** Maximum depth of nested tables. A deeper table is read as text of the cell that contains it. */
const TABLES_MAX = 8;

/**
 * How an element is read. `skipped` means not at all; `unskipped` is a main heading and `unskippedTabs` a list of tabs
 * that are read although they are inside a skipped element.
 */
type Role =
  | "skipped"
  | "unskipped"
  | "unskippedTabs"
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
  | "superscript"
  | "subscript"
  | "quoted"
  | "label"
  | "gauge"
  | "button"
  | "annotation"
  | "formula"
  | "formulaPart";

const ROLES: ReadonlyMap<string, Role> = new Map(
  (
    [
      [
        "block",
        "address article aside caption center details dialog div fieldset figcaption figure footer form header hgroup legend main nav p search section summary optgroup",
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
      ["superscript", "sup"],
      ["subscript", "sub"],
      ["quoted", "q"],
      ["label", "label option textarea"],
      ["gauge", "meter progress"],
      ["button", "button"],
      ["annotation", "rt"],
      ["formula", "math"],
    ] as const
  ).flatMap(([role, names]) => names.split(" ").map((name) => [name, role] as const)),
);
/** Roles of ARIA that say what a generic element is. */
const ARIA_ROLES: ReadonlyMap<string, Role> = new Map([
  ["heading", "heading"],
  ["table", "table"],
  ["grid", "table"],
  ["treegrid", "table"],
  ["rowgroup", "rows"],
  ["row", "row"],
  ["cell", "cell"],
  ["gridcell", "cell"],
  ["columnheader", "cell"],
  ["rowheader", "cell"],
  ["progressbar", "gauge"],
  ["meter", "gauge"],
]);
const HEADER_ROLES = setOf("columnheader rowheader");
/** Classes with which styles set the name and the value of a property apart. */
const PROPERTY = /(?:^|[\s_-])(?:label|value|key|caption|price|amount)(?=\s|$)/i;
const CONTENT = setOf("article main section");
/** Maximum number of tabs whose panels are remembered. */
const PANELS_MAX = 10_000;
/** Texts of permalinks: links from a heading to itself. */
const PERMALINKS = setOf("# ¶ § 🔗 ⚓ ∞");

/** A superscript or subscript. */
interface Script {
  /** Position in the line where it begins. */
  readonly mark: number;
  /** Whether it begins its line. */
  readonly isFirst: boolean;
  /** Whether it contains a link to a place on the same page. */
  isReference: boolean;
}

/** An open table cell. */
interface OpenCell {
  readonly blocks: readonly PageBlock[];
  readonly columns: number;
  readonly rows: number;
  readonly isHeader: boolean;
}

/** An element that is not read. */
interface SkippedElement {
  /** Depth of the current position inside the element. */
  depth: number;
  /** Whether a main heading inside the element is read nevertheless, and whether tabs are. */
  readonly keepsHeading: boolean;
  readonly keepsTabs: boolean;
  /** Whether it is a drawing, in which pictures are looked for. */
  readonly isDrawing: boolean;
}

interface EndedScript extends Script {
  readonly flow: Flow;
  readonly role: Role;
  readonly text: string;
  /** Position in the line after it. */
  readonly end: number;
}

/** Reads elements and text into blocks. */
export class PageReader implements ElementHandler {
  /** The first main heading; null if none has been read so far. */
  heading: string | null = null;
  /** Number of UTF-16 code units of text that was read. */
  shownUnits = 0;
  /** Number of UTF-16 code units of skipped text that may be content. */
  lostUnits = 0;
  readonly #flows: Flow[];
  /** The open element that is skipped; null if there is none. */
  #skipped: SkippedElement | null = null;
  /** The skipped element around a main heading or tabs that are being read. */
  #skippedAround: SkippedElement | null = null;
  /** Number of open skipped elements whose text is certainly not content of the page. */
  #noContentDepth = 0;
  #contents = 0;
  #figures = 0;
  #forms = 0;
  #labels = 0;
  /** Ids of the panels of tabs and collapsed parts so far. */
  readonly #panels = new Set<string>();
  /** Whether the element before this one is a button that shows and hides this one. */
  #isAfterToggle = false;
  #isInToggle = false;
  /** Open meters and progress bars: their values, and the units of text that were read before each. */
  readonly #gauges: { readonly value: string; readonly unitsBefore: number }[] = [];
  /** The formula that is being read; null if there is none. */
  #formula: MathReader | null = null;
  /** The end of the last formula. */
  #afterFormula: { readonly line: Line; readonly mark: number } | null = null;
  /** Open table cells. Each one has a flow; only the first flow, that of the page, belongs to no cell. */
  readonly #cells: OpenCell[] = [];
  /** Open superscripts and subscripts. */
  readonly #scripts: Script[] = [];
  /** The script at the end of the text so far. It is written again once the text after it is known. */
  #ended: EndedScript | null = null;

  constructor(
    sink: PageSink,
    private readonly budget: Budget,
    private readonly scope: Scope,
    private readonly pictures: PictureTexts = noPictures(),
    private readonly pictureIdOf: PictureIds = numbered(),
  ) {
    this.#flows = [new Flow(sink)];
  }

  enter(name: string, attributes: Attributes): Role {
    if (name === "image" && (this.#skipped === null || this.#skipped.isDrawing)) {
      const picture = this.pictureIdOf(attributes.href ?? attributes["xlink:href"]);
      if (picture !== null) this.#addPicture(this.#flow, "", picture);
    }
    if (this.#skipped !== null) return this.#enterWithin(this.#skipped, name, attributes);
    if (this.#formula !== null && !isFormulaNote(name)) {
      this.#formula.open(name);
      return "formulaPart";
    }
    const flow = this.#flow;
    const around = {
      isContent: this.#contents > 0,
      isHeading: flow.heading > 0 || flow.isTerm,
      isQuote: flow.quotes > 0 || this.#figures > 0,
      isForm: this.#forms > 0,
      isPanel: this.#isAfterToggle || (attributes.id !== undefined && this.#panels.has(attributes.id)),
    };
    this.#isAfterToggle = false;
    const visibility = visibilityOf(name, attributes, around, this.scope);
    if (visibility !== "all") {
      const isNavigation = name === "nav" || visibility === "heading";
      const isDrawing = name === "svg";
      this.#skipped = { depth: 1, keepsHeading: visibility === "heading", keepsTabs: isNavigation, isDrawing };
      this.#noContentDepth = mayBeContent(name) ? 0 : 1;
      return "skipped";
    }
    if (CONTENT.has(name)) this.#contents++;
    if (name === "figure") this.#figures++;
    if (name === "form") this.#forms++;
    if (name === "label") this.#labels++;
    if (name === "button") this.#isInToggle = isToggle(attributes);
    this.#notePanels(attributes);
    const role = this.#roleOf(name, attributes);
    if (role === "skipped") {
      this.#skipped = { depth: 1, keepsHeading: false, keepsTabs: false, isDrawing: false };
      this.#noContentDepth = 1;
    } else this.#begin(role, name, attributes);
    return role;
  }

  #enterWithin(skipped: SkippedElement, name: string, attributes: Attributes): Role {
    if (skipped.keepsHeading && name === "h1") {
      this.#skippedAround = skipped;
      this.#skipped = null;
      this.#begin("heading", name, attributes);
      return "unskipped";
    }
    if (skipped.keepsTabs && attributes.role === "tablist") {
      this.#skippedAround = skipped;
      this.#skipped = null;
      this.#begin("block", name, attributes);
      return "unskippedTabs";
    }
    skipped.depth++;
    if (!mayBeContent(name)) this.#noContentDepth++;
    return "skipped";
  }

  leave(name: string, role: Role): void {
    if (role === "skipped") {
      if (this.#skipped === null) return;
      if (!mayBeContent(name)) this.#noContentDepth--;
      if (--this.#skipped.depth === 0) this.#skipped = null;
      return;
    }
    if (role === "formulaPart") {
      this.#formula?.close();
      return;
    }
    if (role === "formula") {
      const { line } = this.#flow;
      const text = this.#formula?.result() ?? "";
      this.#formula = null;
      if (continuesWord(line.last, text)) line.blank();
      this.text(text);
      this.#afterFormula = { line, mark: line.mark };
      return;
    }
    if (role === "unskipped" || role === "unskippedTabs") {
      this.#end(role === "unskipped" ? "heading" : "block", name);
      this.#skipped = this.#skippedAround;
      this.#skippedAround = null;
      return;
    }
    this.#end(role, name);
    if (CONTENT.has(name)) this.#contents--;
    if (name === "figure") this.#figures--;
    if (name === "form") this.#forms--;
    if (name === "label") this.#labels--;
    if (name === "button") {
      this.#isAfterToggle = this.#isInToggle;
      this.#isInToggle = false;
    }
  }

  /** Remembers which elements a tab or another button of the content shows. */
  #notePanels(attributes: Attributes): void {
    if (this.#panels.size < PANELS_MAX) for (const id of controlledBy(attributes)) this.#panels.add(id);
  }

  empty(name: string, attributes: Attributes): void {
    const picture = name === "img" ? this.pictureIdOf(attributes.src) : null;
    if (this.#skipped !== null) return;
    const flow = this.#flow;
    const isContent = this.#contents > 0;
    const around = { isContent, isHeading: false, isQuote: false, isForm: false, isPanel: false };
    if (visibilityOf(name, attributes, around, this.scope) !== "all") return;
    if (name === "br") flow.break();
    else if (name === "hr") flow.separate();
    else if (name === "input") this.#addField(flow, fieldValueOf(attributes));
    else if (name === "img") this.#addPicture(flow, alternativeOf(attributes), picture);
  }

  /** @param picture id of the picture; null if its text is not recognised, because it is elsewhere or too small */
  #addPicture(flow: Flow, alternative: string, picture: string | null): void {
    if (alternative !== "") flow.addAlternative(alternative);
    const recognised = picture === null ? null : this.pictures.text(picture);
    if (recognised === null) return;
    if (recognised.lines.length > 0) {
      flow.addPictureText(
        recognised.lines.map(({ text }) => text),
        recognised.confidence ?? undefined,
      );
    }
    const description = descriptionOf(recognised);
    if (description === null) return;
    flow.separate();
    flow.add(description);
    flow.separate();
  }

  #addField(flow: Flow, value: string): void {
    // an unchecked box outside of labels and lists is often a switch of the page, and no statement
    const isStatement = value !== UNCHECKED || this.#labels > 0 || flow.isItem;
    if (value !== "" && isStatement) flow.addField(value);
  }

  text(text: string): void {
    if (this.#skipped !== null) {
      if (this.#noContentDepth === 0) this.lostUnits += text.trim().length;
      return;
    }
    if (this.#formula !== null) {
      this.#formula.text(text);
      return;
    }
    this.#completeScript(text);
    const { line } = this.#flow;
    const isAfterFormula = this.#afterFormula?.line === line && this.#afterFormula.mark === line.mark;
    if (isAfterFormula && continuesWord(line.last, text)) line.blank();
    if (this.#flow.add(text)) this.shownUnits += text.trim().length;
  }

  /** Ends the page: writes its last block. */
  end(): void {
    this.#flow.separate();
  }

  get #flow(): Flow {
    return this.#flows.at(-1) ?? new Flow(new PageBlocks());
  }

  #roleOf(name: string, attributes: Attributes): Role {
    if (isFormulaNote(name) || name === "rp") return "skipped";
    if (name === "math" && attributes.alttext !== undefined) {
      this.text(formulaOf(attributes.alttext));
      return "skipped";
    }
    if (name === "a" && this.#scripts.length === 0 && isNoteReference(attributes)) return "superscript";
    const own = ROLES.get(name) ?? scriptOf(attributes) ?? (isProperty(name, attributes) ? "label" : "inline");
    const aria = own === "block" || own === "inline" ? ARIA_ROLES.get(attributes.role ?? "") : undefined;
    const role = aria ?? own;
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
        flow.beginList(name === "ol" ? numberedListOf(attributes) : { kind: "bullets" });
        break;
      case "definitions":
        flow.beginList({ kind: "definitions", terms: [], areDefined: false });
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
          table: new PageTable(flow.sink, this.budget, hasBorder(attributes)),
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
        this.#cells.push({
          blocks: blocks.blocks,
          isHeader: name === "th" || HEADER_ROLES.has(attributes.role ?? ""),
          ...spansOf(attributes),
        });
        this.#flows.push(new Flow(blocks));
        break;
      }
      case "gauge":
        if (ROLES.get(name) === "block") flow.separate();
        else flow.beginLabel();
        this.#gauges.push({ value: gaugeValueOf(attributes), unitsBefore: this.shownUnits });
        break;
      default:
        this.#beginInline(flow, role, attributes);
    }
  }

  #beginInline(flow: Flow, role: Role, attributes: Attributes): void {
    switch (role) {
      case "link": {
        const script = this.#scripts.at(-1);
        if (script !== undefined && attributes.href?.startsWith("#") === true) script.isReference = true;
        flow.beginLink();
        break;
      }
      case "bold":
        flow.bold++;
        break;
      case "superscript":
      case "subscript":
        this.#scripts.push({
          mark: flow.line.mark,
          isFirst: flow.line.last === "",
          isReference: isNoteReference(attributes),
        });
        break;
      case "quoted":
        flow.add("“");
        break;
      case "formula":
        this.#formula = new MathReader();
        break;
      case "label":
        flow.beginLabel();
        break;
      case "button":
        flow.beginLabel();
        if (!isTab(attributes)) flow.buttons++;
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
      case "gauge": {
        const gauge = this.#gauges.pop();
        // text in the element says what it shows
        if (gauge !== undefined && gauge.unitsBefore === this.shownUnits) flow.add(gauge.value);
        if (ROLES.get(name) === "block") flow.separate();
        else flow.endLabel();
        break;
      }
      case "link":
        flow.endLink((text) => PERMALINKS.has(text));
        break;
      case "bold":
        flow.bold--;
        break;
      case "superscript":
      case "subscript":
        this.#endScript(flow, role);
        break;
      case "quoted":
        flow.add("”");
        break;
      case "label":
        flow.endLabel();
        break;
      case "button":
        flow.endLabel();
        flow.buttons = Math.max(0, flow.buttons - 1);
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

  /** Writes the script that ends at the current position again, now that the text after it is known. */
  #completeScript(after: string): void {
    const script = this.#ended;
    const isHere = script !== null && script.flow === this.#flow && script.end === script.flow.line.mark;
    // a script directly after a script, as in x_i^2, does not count as text after it
    if (isHere && this.#scripts.length === 0) this.#writeScript(script, after);
    this.#ended = null;
  }

  #endScript(flow: Flow, role: Role): void {
    const script = this.#scripts.pop();
    const text = script === undefined ? null : flow.line.since(script.mark);
    if (script === undefined || text === null || script.isFirst) return;
    this.#writeScript({ ...script, flow, role, text, end: flow.line.mark }, "");
  }

  /** Writes a script instead of its text. @param after the text after it, as far as it is known */
  #writeScript(script: EndedScript, after: string): void {
    const { line } = script.flow;
    const isSpaced = line.last === " ";
    const lead = /^\s*/.exec(script.text)?.[0] ?? "";
    const place = { before: line.before(script.mark) + lead, after, isNote: script.isReference, hasLinkedNotes: true };
    const written = script.role === "subscript" ? subscript(script.text, place) : superscript(script.text, place);
    line.cutFrom(script.mark);
    // a mass number belongs to what follows it
    const isBehind = lead !== "" && /^[\^_]/.test(written) && !ISOTOPE.test(after);
    line.add(lead === "" || isBehind ? written : lead + written.trimStart());
    if (isSpaced) line.blank();
    this.#ended = { ...script, end: line.mark };
  }
}

function isProperty(name: string, { class: classes }: Attributes): boolean {
  return name === "span" && classes !== undefined && PROPERTY.test(classes);
}

/** Collects the blocks of a table cell. */
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
