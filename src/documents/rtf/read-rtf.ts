// Reads an RTF file: paragraphs, headings, lists, tables, notes, comments, text boxes, headers and footers.
// rtf-tokens.ts splits the file; rtf-codepages.ts names encodings.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, type ReadingLimits } from "../budget.ts";
import { countWere, type ReadDocument } from "../document.ts";
import { listItem } from "../office/lists.ts";
import { type RunPosition, ScriptedText } from "../office/scripted-text.ts";
import { type Cell, TableRows } from "../office/table.ts";
import { LIST, onOneLine, readable, TextWriter } from "../text-writer.ts";
import { encodingOfCharset, encodingOfCodePage } from "./rtf-codepages.ts";
import { type RtfSink, readRtfTokens } from "./rtf-tokens.ts";

/** Reads an RTF file. Takes linear time and memory, up to the limits. Never throws because of the content. */
export function readRtf(bytes: Uint8Array, limits: ReadingLimits = READING_LIMITS): ReadDocument | ReadFailure {
  return outcomeOf(() => {
    const budget = new Budget(limits);
    const reader = new RtfReader(budget);
    const start = bytes.indexOf(0x7b);
    const openGroups = readRtfTokens(bytes.subarray(Math.max(0, start)), reader, budget);
    const read = reader.end();
    if (read instanceof ReadFailure) return read;
    const warnings = openGroups > 0 ? ["The file is cut off: what follows its last paragraph was not read."] : [];
    return { ...read, warnings: [...warnings, ...reader.warnings] };
  });
}

/** What the text of a group is. Text of `skipped` groups is not read. */
type Destination =
  | "body"
  | "skipped"
  | "fonts"
  | "styles"
  | "title"
  | "label"
  | "note"
  | "comment"
  | "author"
  | "header"
  | "box";

/** Destinations by their control words. All others that begin with `\*` are skipped. */
const DESTINATIONS: Readonly<Record<string, Destination>> = {
  fonttbl: "fonts",
  stylesheet: "styles",
  title: "title",
  listtext: "label",
  pntext: "label",
  footnote: "note",
  annotation: "comment",
  atnauthor: "author",
  ...Object.fromEntries(["header", "headerl", "headerr", "headerf"].map((word) => [word, "header" as const])),
  ...Object.fromEntries(["footer", "footerl", "footerr", "footerf"].map((word) => [word, "header" as const])),
  shptxt: "box",
  ...Object.fromEntries(
    (
      "colortbl info pict object objdata themedata datastore colorschememapping latentstyles listtable " +
      "listoverridetable rsidtbl generator fldinst sn sv shprslt nonshppict xmlnstbl pgdsctbl filetbl revtbl " +
      "ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn bkmkstart bkmkend atnid atndate atnref atrfstart atrfend " +
      "do template operator passwordhash mmathPr wgrffmtfilter xe tc private"
    )
      .split(" ")
      .map((word) => [word, "skipped" as const]),
  ),
};
/** Destinations marked with `\*` (which may be ignored) that contain destinations that are read. */
const TRANSPARENT = new Set(["shpinst", "shpgrp", "shp"]);
/** Destinations whose text is kept apart from the paragraph around them. */
const APART: ReadonlySet<Destination> = new Set(["note", "comment", "header", "box", "label", "title", "author"]);

const SIGNS: Readonly<Record<string, string>> = {
  tab: "\t",
  line: "\n",
  softline: "\n",
  lbr: "\n",
  emdash: "—",
  endash: "–",
  emspace: " ",
  enspace: " ",
  qmspace: " ",
  bullet: "•",
  lquote: "‘",
  rquote: "’",
  ldblquote: "“",
  rdblquote: "”",
  "~": " ",
  _: "-",
  "{": "{",
  "}": "}",
  "\\": "\\",
};

/** The formatting of a group. Groups inside begin with that of the group around them. */
interface GroupState {
  destination: Destination;
  encoding: string;
  /** Number of characters that follow a Unicode character for programs that do not know it. */
  fallbackUnits: number;
  isHidden: boolean;
  isBold: boolean;
  isStruck: boolean;
  position: RunPosition;
  /** Whether the group began with `\*`. */
  isIgnorable: boolean;
  /** Font of an entry of the font table. */
  font: number;
  /** Style of an entry of the style sheet. */
  style: number | null;
  outlineLevel: number | null;
}

/** Formatting of the current paragraph. */
interface ParagraphState {
  isInTable: boolean;
  style: number | null;
  outlineLevel: number | null;
  listLevel: number;
}

const PLAIN_PARAGRAPH: ParagraphState = { isInTable: false, style: null, outlineLevel: null, listLevel: 0 };

/** Text that is collected, such as that of the body or of a footnote. */
interface Flow {
  readonly text: ScriptedText;
  /** Label of the list item; null for other paragraphs. */
  label: string | null;
  paragraph: ParagraphState;
  /** Whether all text of the cell is bold. */
  isAllBold: boolean;
  readonly isBody: boolean;
  /** Finished paragraphs, if the flow is not the body. */
  readonly done: string[];
}

class RtfReader implements RtfSink {
  readonly warnings: string[] = [];
  readonly #writer: TextWriter;
  readonly #groups: { readonly state: GroupState; readonly opensFlow: boolean }[] = [];
  readonly #flows: Flow[] = [newFlow(true)];
  readonly #encodings = new Map<number, string>();
  readonly #outlineLevels = new Map<number, number>();
  readonly #notes: string[] = [];
  readonly #running = new Set<string>();
  readonly #boxes: string[] = [];
  readonly #comments: string[] = [];
  #commentAuthor = "";
  #title = "";
  #pictures = 0;
  #state: GroupState = {
    destination: "body",
    encoding: "windows-1252",
    fallbackUnits: 1,
    isHidden: false,
    isBold: false,
    isStruck: false,
    position: "line",
    isIgnorable: false,
    font: 0,
    style: null,
    outlineLevel: null,
  };
  #opensFlow = false;
  #defaultEncoding = "windows-1252";
  #bytes: number[] = [];
  #styleName = "";
  /** Number of fallback characters that are still to be skipped. */
  #skipUnits = 0;
  #cells: Cell[] = [];
  #cellParagraphs: string[] = [];
  #table: TableRows | null = null;

  constructor(private readonly budget: Budget) {
    this.#writer = new TextWriter(budget);
  }

  openGroup(): void {
    this.#flushBytes();
    this.#skipUnits = 0;
    this.#groups.push({ state: this.#state, opensFlow: this.#opensFlow });
    this.#state = { ...this.#state, isIgnorable: false };
    this.#opensFlow = false;
  }

  closeGroup(): void {
    this.#flushBytes();
    this.#skipUnits = 0;
    const closed = this.#state;
    if (closed.destination === "styles" && this.#styleName !== "") this.#endStyle();
    if (this.#opensFlow) this.#endFlow(closed.destination);
    const outer = this.#groups.pop();
    if (outer === undefined) return;
    this.#state = outer.state;
    this.#opensFlow = outer.opensFlow;
  }

  byte(byte: number): void {
    if (this.#skipUnits > 0) {
      this.#skipUnits -= 1;
      return;
    }
    if (this.#state.destination === "skipped" || this.#state.isHidden) return;
    if (byte < 0x80 && this.#bytes.length === 0) this.#text(String.fromCharCode(byte));
    else this.#bytes.push(byte);
  }

  control(word: string, value: number | null): void {
    if (word === "*") {
      this.#state.isIgnorable = true;
      return;
    }
    // a character that is written as a control counts as a fallback, too
    if (this.#skipUnits > 0 && SIGNS[word] !== undefined) {
      this.#skipUnits -= 1;
      return;
    }
    this.#flushBytes();
    if (word === "u") {
      this.#unicode(value ?? 0);
      return;
    }
    const destination = Object.hasOwn(DESTINATIONS, word) ? DESTINATIONS[word] : undefined;
    if (destination !== undefined || this.#state.isIgnorable) {
      this.#enter(word, destination);
      return;
    }
    const sign = Object.hasOwn(SIGNS, word) ? SIGNS[word] : undefined;
    if (sign !== undefined) this.#text(sign);
    else if (this.#state.destination !== "skipped") this.#format(word, value);
  }

  /** The document. Call it once, at the end. */
  end(): ReadDocument | ReadFailure {
    this.#flushBytes();
    while (this.#groups.length > 0) this.closeGroup();
    this.#endParagraph();
    this.#endTable();
    for (const text of this.#boxes) this.#writer.write({ text, series: null });
    for (const [at, note] of this.#notes.entries()) {
      if (note !== "") this.#writer.write({ text: `[${at + 1}] ${note}`, series: this.#notes });
    }
    for (const text of this.#comments) this.#writer.write({ text, series: this.#comments });
    for (const text of this.#running) this.#writer.write({ text, series: this.#running });
    if (this.#pictures > 0) this.warnings.push(`${countWere(this.#pictures, "picture")} not read.`);
    const title = onOneLine(this.#title);
    return this.#writer.document(title === "" ? null : shortTitle(title));
  }

  get #flow(): Flow {
    return this.#flows.at(-1) ?? newFlow(true);
  }

  #enter(word: string, destination: Destination | undefined): void {
    const state = this.#state;
    const isIgnorable = state.isIgnorable;
    state.isIgnorable = false;
    if (word === "pict") this.#pictures += 1;
    if (state.destination === "skipped" && word !== "title") return;
    if (TRANSPARENT.has(word)) return;
    if (destination === undefined) {
      if (isIgnorable) state.destination = "skipped";
      return;
    }
    state.destination = destination;
    if (destination === "styles") this.#styleName = "";
    if (!APART.has(destination) || this.#opensFlow) return;
    this.#opensFlow = true;
    this.#flows.push(newFlow(false));
  }

  #format(word: string, value: number | null): void {
    const state = this.#state;
    const isOn = value !== 0;
    switch (word) {
      case "par":
      case "sect":
      case "page":
        if (state.destination !== "fonts" && state.destination !== "styles") this.#endParagraph();
        break;
      case "pard":
        this.#flow.paragraph = { ...PLAIN_PARAGRAPH };
        break;
      case "plain":
        state.position = "line";
        state.isBold = false;
        state.isStruck = false;
        state.isHidden = false;
        break;
      case "b":
        state.isBold = isOn;
        break;
      case "strike":
      case "striked":
        state.isStruck = isOn;
        break;
      case "v":
      case "deleted":
        state.isHidden = isOn;
        break;
      case "super":
      case "sub":
        state.position = !isOn ? "line" : word === "super" ? "raised" : "lowered";
        break;
      case "up":
      case "dn":
        state.position = (value ?? 6) === 0 ? "line" : word === "up" ? "raised" : "lowered";
        break;
      case "nosupersub":
        state.position = "line";
        break;
      case "intbl":
        this.#flow.paragraph.isInTable = true;
        break;
      case "cell":
      case "nestcell":
        this.#endCell(word === "nestcell");
        break;
      case "row":
        this.#endRow();
        break;
      case "s":
        if (state.destination === "styles") state.style = value;
        else this.#flow.paragraph.style = value;
        break;
      case "outlinelevel":
        if (state.destination === "styles") state.outlineLevel = value;
        else this.#flow.paragraph.outlineLevel = value;
        break;
      case "ilvl":
        this.#flow.paragraph.listLevel = value ?? 0;
        break;
      case "uc":
        state.fallbackUnits = Math.max(0, value ?? 1);
        break;
      default:
        this.#setEncoding(word, value);
    }
  }

  #setEncoding(word: string, value: number | null): void {
    const state = this.#state;
    switch (word) {
      case "ansicpg":
      case "mac":
      case "pca":
        this.#defaultEncoding = word === "mac" ? "macintosh" : encodingOfCodePage(word === "pca" ? 850 : (value ?? 0));
        state.encoding = this.#defaultEncoding;
        for (const group of this.#groups) group.state.encoding = this.#defaultEncoding;
        break;
      case "f":
        if (state.destination === "fonts") state.font = value ?? 0;
        else state.encoding = this.#encodings.get(value ?? 0) ?? this.#defaultEncoding;
        break;
      case "fcharset": {
        const encoding = encodingOfCharset(value ?? 0);
        if (state.destination === "fonts" && encoding !== null) this.#encodings.set(state.font, encoding);
        break;
      }
    }
  }

  #unicode(value: number): void {
    this.#skipUnits = this.#state.fallbackUnits;
    if (this.#state.destination === "skipped" || this.#state.isHidden) return;
    this.#text(String.fromCharCode(value & 0xffff));
  }

  #flushBytes(): void {
    if (this.#bytes.length === 0) return;
    const bytes = Uint8Array.from(this.#bytes);
    this.#bytes = [];
    this.#text(new TextDecoder(this.#state.encoding as Bun.Encoding).decode(bytes));
  }

  #text(text: string): void {
    const { destination, isHidden, isBold, isStruck, position } = this.#state;
    if (isHidden) return;
    switch (destination) {
      case "skipped":
      case "fonts":
        return;
      case "styles":
        this.#styleName += text;
        if (text === ";") this.#endStyle();
        return;
    }
    const flow = this.#flow;
    if (!isBold && text.trim() !== "") flow.isAllBold = false;
    this.budget.addText(text.length);
    flow.text.add(text, position, isStruck);
  }

  #endStyle(): void {
    const { style, outlineLevel } = this.#state;
    const heading = /^heading ([1-6])\b/i.exec(this.#styleName.trim())?.[1];
    const level = heading === undefined ? outlineLevel : Number(heading) - 1;
    if (style !== null && level !== null && level < 6) this.#outlineLevels.set(style, level);
    this.#styleName = "";
  }

  #endFlow(destination: Destination): void {
    const flow = this.#flows.pop();
    if (flow === undefined) return;
    const last = readable(flow.text.take());
    const paragraphs = last === "" ? flow.done : [...flow.done, last];
    const text = paragraphs.join("\n");
    switch (destination) {
      case "title":
        this.#title ||= text;
        break;
      case "label":
        this.#flow.label = onOneLine(text);
        break;
      case "note":
        this.#notes.push(onOneLine(text));
        this.#flow.text.add(`[${this.#notes.length}]`, "line");
        break;
      case "author":
        this.#commentAuthor = onOneLine(text);
        break;
      case "comment":
        if (text === "") break;
        this.#comments.push(
          `Comment${this.#commentAuthor === "" ? "" : ` (${this.#commentAuthor})`}: ${onOneLine(text)}`,
        );
        this.#commentAuthor = "";
        break;
      case "header":
        if (text !== "" && !/^[\p{P}\s\d]*$/u.test(text)) this.#running.add(text);
        break;
      case "box":
        this.#boxes.push(...paragraphs);
        break;
      default:
        this.#flow.text.add(text, "line");
    }
  }

  #endParagraph(): void {
    const flow = this.#flow;
    const text = readable(flow.text.take().replace(/[\t ]+/g, " "));
    const { label, paragraph } = flow;
    flow.label = null;
    if (!flow.isBody) {
      if (text !== "") flow.done.push(label === null ? text : `${label} ${text}`);
      return;
    }
    if (paragraph.isInTable) {
      if (text !== "") this.#cellParagraphs.push(label === null ? text : `${label} ${text}`);
      return;
    }
    this.#endTable();
    if (text === "") return;
    const level = paragraph.outlineLevel ?? this.#outlineLevels.get(paragraph.style ?? -1) ?? null;
    if (level !== null && level < 6) {
      const numbered = label === null || label === "" ? "" : `${label} `;
      this.#writer.write({ text: `${"#".repeat(level + 1)} ${numbered}${onOneLine(text)}`, series: null });
    } else if (label !== null) {
      const isBullet = !/[\p{L}\p{N}]/u.test(label) || label.length === 1;
      this.#writer.write({ text: listItem(paragraph.listLevel, isBullet ? null : label, text), series: LIST });
    } else this.#writer.write({ text, series: null });
    flow.isAllBold = true;
  }

  #endCell(isNested: boolean): void {
    const flow = this.#flow;
    if (!flow.isBody || isNested) {
      flow.text.add(" ", "line");
      return;
    }
    const last = readable(flow.text.take());
    if (last !== "") this.#cellParagraphs.push(last);
    const text = onOneLine(this.#cellParagraphs.join(" "));
    this.#cellParagraphs = [];
    this.budget.addCells(1);
    this.#cells.push({ text, column: this.#cells.length, span: 1, isBold: text !== "" && flow.isAllBold });
    flow.isAllBold = true;
  }

  #endRow(): void {
    if (!this.#flow.isBody) return;
    const table = this.#table ?? new TableRows("likely");
    this.#table = table;
    for (const text of table.add({ cells: this.#cells, isHeader: false })) {
      this.#writer.write({ text, series: table.series });
    }
    this.#cells = [];
  }

  #endTable(): void {
    if (this.#cells.length > 0) this.#endRow();
    const table = this.#table;
    if (table === null) return;
    this.#table = null;
    for (const text of table.end()) this.#writer.write({ text, series: table.series });
  }
}

function newFlow(isBody: boolean): Flow {
  return {
    text: new ScriptedText(),
    label: null,
    paragraph: { ...PLAIN_PARAGRAPH },
    isAllBold: true,
    isBody,
    done: [],
  };
}
