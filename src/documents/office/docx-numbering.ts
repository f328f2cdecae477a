// Computes the labels of numbered paragraphs of a Word document, with the counting rules of Word (ECMA-376-1, 17.9).

import { numeral, numeralKindOf } from "./lists.ts";
import type { OfficePackage } from "./package.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** The label of a list paragraph. */
export interface ListLabel {
  /** null for a bullet; empty if the paragraph has no label. */
  readonly label: string | null;
  readonly level: number;
}

/** Number of list levels in Word. They are numbered from 0 to 8. */
const LEVELS = 9;
/** Maximum length of a label, in UTF-16 code units. Labels in legal texts have about ten. */
const LABEL_UNITS_MAX = 40;

interface Level {
  start: number;
  format: string;
  /** Pattern of the label: `%1.%2` contains the numbers of levels 1 and 2. null if the file does not define it. */
  pattern: string | null;
  /**
   * Level, from 1: a paragraph on it or on an outer level restarts the counting of this level. 0 if counting never
   * restarts; null if every outer level restarts it.
   */
  restart: number | null;
}

/** Counts the paragraphs of all lists of a document and computes their labels. */
export class Numbering {
  readonly #counts = new Map<string, (number | null)[]>();
  readonly #reader = new NumberingReader();

  /** @throws ReadFailure if the numbering part is damaged */
  constructor(document: OfficePackage, part: string | null) {
    if (part !== null) document.read(part, "w", this.#reader);
  }

  /** Counts and returns the next label of a list; null if its id is 0 or unknown. */
  next(listId: string, level: number): ListLabel | null {
    const list = this.#reader.lists.get(listId);
    if (list === undefined) return null;
    const at = Math.min(Math.max(level, 0), LEVELS - 1);
    const levels = this.#levelsOf(list);
    const own = levels.get(at);
    const counts = this.#counts.get(list.abstractId) ?? [];
    this.#counts.set(list.abstractId, counts);
    const override = list.isStarted ? undefined : list.starts.get(at);
    const counted = override === undefined ? (counts[at] ?? null) : null;
    list.isStarted = true;
    counts[at] = counted === null ? (override ?? own?.start ?? 1) : counted + 1;
    for (let below = at + 1; below < LEVELS; below++) {
      const restart = levels.get(below)?.restart ?? null;
      if (restart === null || (restart > 0 && at < restart)) counts[below] = null;
    }
    if (own === undefined || own.format === "bullet") return { label: null, level: at };
    return { label: own.format === "none" ? "" : labelOf(levels, counts, at), level: at };
  }

  #levelsOf(list: List): ReadonlyMap<number, Level> {
    const abstract = this.#reader.abstracts.get(list.abstractId);
    if (abstract?.link === undefined || abstract.levels.size > 0) return abstract?.levels ?? new Map();
    // the levels are defined by another list: the one that defines the linked style
    for (const other of this.#reader.abstracts.values()) if (other.style === abstract.link) return other.levels;
    return abstract.levels;
  }
}

function labelOf(levels: ReadonlyMap<number, Level>, counts: readonly (number | null)[], at: number): string {
  const pattern = (levels.get(at)?.pattern ?? `%${at + 1}.`).slice(0, LABEL_UNITS_MAX);
  const label = pattern.replace(/%([1-9])/g, (_, digit: string) => {
    const each = Number(digit) - 1;
    const level = levels.get(each);
    return numeral(counts[each] ?? level?.start ?? 1, numeralKindOf(level?.format ?? "decimal"));
  });
  // removes characters of symbol fonts
  return label.replace(/[\ue000-\uf8ff]/g, "").trim();
}

interface List {
  abstractId: string;
  /** Start values of the levels that this list restarts. */
  readonly starts: Map<number, number>;
  isStarted: boolean;
}

interface AbstractList {
  readonly levels: Map<number, Level>;
  style?: string;
  link?: string;
}

class NumberingReader implements XmlHandler {
  readonly abstracts = new Map<string, AbstractList>();
  readonly lists = new Map<string, List>();
  #abstract: AbstractList | null = null;
  #level: Level | null = null;
  #list: List | null = null;
  #overridden = 0;

  open(name: string, attributes: Attributes): "skip" | undefined {
    const value = attributes.val ?? "";
    const number = Number.parseInt(value, 10) || 0;
    switch (name) {
      case "w:abstractNum":
        this.#abstract = { levels: new Map() };
        this.abstracts.set(attributes.abstractNumId ?? "", this.#abstract);
        break;
      case "w:styleLink":
        if (this.#abstract !== null) this.#abstract.style = value;
        break;
      case "w:numStyleLink":
        if (this.#abstract !== null) this.#abstract.link = value;
        break;
      case "w:lvl":
        this.#level = { start: 1, format: "decimal", pattern: null, restart: null };
        // only the start value of an overridden level is read, because other overrides are rare
        this.#abstract?.levels.set(Number.parseInt(attributes.ilvl ?? "0", 10) || 0, this.#level);
        break;
      case "w:start":
        if (this.#level !== null) this.#level.start = number;
        break;
      case "w:numFmt":
        if (this.#level !== null) this.#level.format = value;
        break;
      case "w:lvlText":
        if (this.#level !== null) this.#level.pattern = value;
        break;
      case "w:lvlRestart":
        if (this.#level !== null) this.#level.restart = number;
        break;
      case "w:num":
        this.#list = { abstractId: "", starts: new Map(), isStarted: false };
        this.lists.set(attributes.numId ?? "", this.#list);
        break;
      case "w:abstractNumId":
        if (this.#list !== null) this.#list.abstractId = value;
        break;
      case "w:lvlOverride":
        this.#overridden = Number.parseInt(attributes.ilvl ?? "0", 10) || 0;
        break;
      case "w:startOverride":
        this.#list?.starts.set(this.#overridden, number);
        break;
      case "w:rPr":
      case "w:pPr":
        return "skip";
    }
    return undefined;
  }

  close(name: string): void {
    if (name === "w:abstractNum") this.#abstract = null;
    if (name === "w:lvl") this.#level = null;
    if (name === "w:num") this.#list = null;
  }

  text(): void {}
}
