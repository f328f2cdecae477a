// Resolves the styles of a Word document: heading level and list of paragraphs, and the position of text above or below
// its line (ECMA-376-1, 17.7).

import type { OfficePackage } from "./package.ts";
import type { RunPosition } from "./scripted-text.ts";
import { type Attributes, isSet, type XmlHandler } from "./xml.ts";

/** Properties that a style gives to its paragraphs or runs. A property is null if the style does not set it. */
export interface WordStyle {
  /** Level of the heading, 1 to 6; 0 if the paragraph is not a heading. */
  readonly heading: number | null;
  readonly list: { readonly id: string; readonly level: number } | null;
  /** Whether this is the style of a table of contents, which repeats the headings. */
  readonly isContents: boolean;
  /** Whether this is the style of instructions in controls in which nothing was entered. */
  readonly isInstruction: boolean;
  readonly position: RunPosition | null;
}

/** Styles of paragraphs and runs by their id; null means the default paragraph style. */
export type StyleOf = (id: string | null) => WordStyle;

/** Number of heading levels in Markdown. */
const HEADING_MAX = 6;
/** Heading style names as written by programs that translate them. Word itself always writes `heading 1`. */
const HEADING_NAME =
  /^(?:heading|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|címsor|başlık|заголовок|标题|標題|見出し|제목)\s*([1-9])$/iu;
const CONTENTS_NAME = /^(?:toc \d|toc heading|table of contents)$/i;
const INSTRUCTION_NAME = /^placeholder ?text$/i;
/** Styles of the marks of notes. Their ids are not translated. */
const NOTE_NAME = /^(?:footnote|endnote) reference$/i;
/** Minimum distance of raised and lowered text from its line, in half-points. Smaller ones adjust a font. */
const SHIFT_MIN = 3;
const PLAIN: WordStyle = { heading: null, list: null, isContents: false, isInstruction: false, position: null };

/**
 * The position of text with one more property, `w:vertAlign` or `w:position`.
 * @param known the position by the properties before it; null if there are none
 */
export function positionWith(known: RunPosition | null, property: string, value: string): RunPosition {
  if (known !== null && known !== "line") return known;
  if (property === "w:vertAlign") {
    return value === "superscript" ? "raised" : value === "subscript" ? "lowered" : "line";
  }
  const shift = Number.parseInt(value, 10) || 0;
  return Math.abs(shift) < SHIFT_MIN ? "line" : shift > 0 ? "raised" : "lowered";
}

/** Converts an outline level (0 to 8; 9 means body text) to a heading level. */
export function headingOfOutline(level: number): number {
  return level >= 0 && level <= 8 ? Math.min(level + 1, HEADING_MAX) : 0;
}

/** Reads the styles part. @throws ReadFailure if it is damaged */
export function readStyles(document: OfficePackage, part: string | null): StyleOf {
  const reader = new StyleReader();
  if (part !== null) document.read(part, "w", reader);
  const resolved = new Map<string, WordStyle>();
  return (id) => {
    const own = id ?? reader.defaultId;
    if (own === null) return PLAIN;
    const known = resolved.get(own) ?? resolve(own, reader.styles);
    resolved.set(own, known);
    return known;
  };
}

interface WrittenStyle {
  name: string;
  basedOn: string | null;
  outline: number | null;
  listId: string | null;
  listLevel: number | null;
  position: RunPosition | null;
}

function resolve(id: string, styles: ReadonlyMap<string, WrittenStyle>): WordStyle {
  let { heading, isContents, isInstruction, position } = PLAIN;
  let [listId, listLevel]: [string | null, number | null] = [null, null];
  const seen = new Set<string>();
  for (let at: string | null = id; at !== null && !seen.has(at); ) {
    seen.add(at);
    const style = styles.get(at);
    heading ??= headingOf(style, at);
    isContents ||= CONTENTS_NAME.test(style?.name ?? at);
    isInstruction ||= INSTRUCTION_NAME.test(style?.name ?? at);
    listId ??= style?.listId ?? null;
    listLevel ??= style?.listLevel ?? null;
    position ??= NOTE_NAME.test(style?.name ?? at) ? "note" : (style?.position ?? null);
    at = style?.basedOn ?? null;
  }
  return {
    heading,
    list: listId === null ? null : { id: listId, level: listLevel ?? 0 },
    isContents,
    isInstruction,
    position,
  };
}

function headingOf(style: WrittenStyle | undefined, id: string): number | null {
  // if the styles part is missing, the id is the only known name of the style
  const name = (style?.name || id).trim();
  if (/^title$/i.test(name)) return 1;
  const named = HEADING_NAME.exec(name)?.[1];
  if (named !== undefined) return Math.min(Number(named), HEADING_MAX);
  return style?.outline == null ? null : headingOfOutline(style.outline);
}

class StyleReader implements XmlHandler {
  readonly styles = new Map<string, WrittenStyle>();
  /** Id of the default paragraph style; null if there is none. */
  defaultId: string | null = null;
  #style: WrittenStyle | null = null;

  open(name: string, attributes: Attributes): "skip" | undefined {
    const value = attributes.val ?? "";
    const style = this.#style;
    switch (name) {
      case "w:style": {
        const { type = "paragraph", styleId = "", default: isDefault = "" } = attributes;
        if (type !== "paragraph" && type !== "character") return "skip";
        this.#style = { name: "", basedOn: null, outline: null, listId: null, listLevel: null, position: null };
        this.styles.set(styleId, this.#style);
        if (type === "paragraph" && isSet(isDefault)) this.defaultId = styleId;
        break;
      }
      case "w:docDefaults":
      case "w:latentStyles":
      case "w:rPrChange":
      case "w:pPrChange":
        return "skip";
      case "w:vertAlign":
      case "w:position":
        if (style !== null) style.position = positionWith(style.position, name, value);
        break;
      case "w:name":
        if (style !== null) style.name = value;
        break;
      case "w:basedOn":
        if (style !== null) style.basedOn = value;
        break;
      case "w:outlineLvl":
        if (style !== null) style.outline = Number.parseInt(value, 10);
        break;
      case "w:numId":
        if (style !== null) style.listId = value;
        break;
      case "w:ilvl":
        if (style !== null) style.listLevel = Number.parseInt(value, 10) || 0;
        break;
    }
    return undefined;
  }

  close(name: string): void {
    if (name === "w:style") this.#style = null;
  }

  text(): void {}
}
