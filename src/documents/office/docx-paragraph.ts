// Collects a paragraph of a Word document: text, heading or list level, notes, anchored text boxes and diagrams.

import { type Block, LIST, onOneLine, readable } from "../text-writer.ts";
import type { Numbering } from "./docx-numbering.ts";
import { headingOfOutline, type StyleOf } from "./docx-styles.ts";
import { listItem } from "./lists.ts";
import { type RunPosition, ScriptedText } from "./scripted-text.ts";

/** Formatting of a run of text. */
interface RunFormat {
  readonly isBold: boolean;
  readonly position: RunPosition;
  readonly isStruck?: boolean;
}

/** A paragraph that is being read. */
export class Paragraph {
  style: string | null = null;
  outline: number | null = null;
  listId: string | null = null;
  listLevel: number | null = null;
  /** Whether its paragraph mark was deleted, so that the next paragraph continues it. */
  isOpenEnded = false;
  isBold = true;
  readonly notes: string[] = [];
  /** Blocks of text boxes, diagrams and charts that are anchored in the paragraph. */
  readonly #anchored: Block[] = [];
  readonly #text = new ScriptedText();

  add(text: string, { isBold, position, isStruck = false }: RunFormat): void {
    this.#text.add(text, position, isStruck);
    if (!isBold && /\S/.test(text)) this.isBold = false;
  }

  addEquation(text: string): void {
    this.#text.addEquation(text);
    this.isBold = false;
  }

  /** Adds the mark of a note. */
  addMark(mark: string): void {
    this.#text.add(mark, "note");
  }

  /** Adds the blocks of a text box, diagram or chart that is anchored in the paragraph. */
  anchor(blocks: readonly Block[]): void {
    for (const block of blocks) this.#anchored.push(block);
  }

  /** Returns the blocks of the paragraph; none if the paragraph is empty. */
  blocks(styleOf: StyleOf, numbering: Numbering): Block[] {
    const style = styleOf(this.style);
    const list = this.#listBy(style.list);
    // the label is computed even for an empty paragraph, because Word counts such paragraphs
    const label = list === null ? null : numbering.next(list.id, list.level);
    const heading = this.outline === null ? (style.heading ?? 0) : headingOfOutline(this.outline);
    const text = style.isContents ? "" : readable(this.#text.take(heading === 0));
    const notes = this.notes.join(" ");
    if (text === "") return [...(notes === "" ? [] : [{ text: notes, series: null }]), ...this.#anchored];
    if (heading > 0) {
      const line = [label?.label ?? "", onOneLine(text)].filter((part) => part !== "").join(" ");
      const own = { text: `${"#".repeat(heading)} ${line}`, series: null };
      return [own, ...(notes === "" ? [] : [{ text: notes, series: null }]), ...this.#anchored];
    }
    const whole = notes === "" ? text : `${text} ${notes}`;
    const own =
      label === null || label.label === ""
        ? { text: whole, series: null }
        : { text: listItem(label.level, label.label, whole), series: LIST };
    return [own, ...this.#anchored];
  }

  #listBy(styled: { readonly id: string; readonly level: number } | null) {
    const id = this.listId ?? styled?.id ?? null;
    return id === null ? null : { id, level: this.listLevel ?? styled?.level ?? 0 };
  }
}
