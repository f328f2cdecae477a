// Which alef and lam of a line are one glyph? Arabic draws lam and alef as one, and Word spells that glyph out with both letters.
// pdf.js puts a line's letters in the order in which they are drawn and then turns all of them round, the two of that glyph
// too, and "\u062e\u0644\u0627\u0644" becomes "\u062e\u0627\u0644\u0644". Only the glyphs tell that from the article.

/** A stretch of text whose letters pdf.js put in logical order. */
export interface TurnedText {
  readonly str: string;
  /** The direction in which most of it reads: `ltr`, `rtl` or `ttb`. */
  readonly dir: string;
}

/** Alef, with whatever it carries, and lam: the article, or a ligature that was turned round. */
const TURNED = /[\u0622\u0623\u0625\u0627]\u0644/g;
/** The same as it is drawn. */
const DRAWN = /\u0644[\u0622\u0623\u0625\u0627]/g;
/** After an alef the turned pair cannot be a word's own letters: what can be told without the glyphs. */
const SURELY_TURNED = /\u0627([\u0622\u0623\u0625])\u0644/g;

/** Whether a text has letters of which only the glyphs tell the order. */
export function mayHoldLigatures(text: string): boolean {
  return text.search(TURNED) !== -1;
}

/**
 * The items with lam and alef the right way round.
 * @param glyphs What each glyph of the page says, in the order in which they are drawn; spaces may be missing. Where they do not
 *   go with the items, and for those after that, only what is sure without them is put right.
 */
export function withLigaturesInOrder<T extends TurnedText>(
  items: readonly T[],
  glyphs: readonly string[],
): readonly T[] {
  let at = 0;
  return items.map((item) => {
    const own: string[] = [];
    const units = unitsOf(item.str);
    for (let taken = 0; taken < units && at < glyphs.length; at++) {
      const glyph = glyphs[at] ?? "";
      own.push(glyph);
      taken += unitsOf(glyph);
    }
    if (!isMadeOf(item.str, own)) {
      at = glyphs.length;
      return { ...item, str: item.str.replace(SURELY_TURNED, "\u0627\u0644$1") };
    }
    return mayHoldLigatures(item.str) ? { ...item, str: putRight(item, own) } : item;
  });
}

function putRight({ str, dir }: TurnedText, glyphs: readonly string[]): string {
  const areLigatures = pairsDrawn(glyphs);
  // from the right; in a text that reads the other way, words may stand in any order
  const inText = dir === "rtl" ? areLigatures.toReversed() : areLigatures;
  const isSure = dir === "rtl" || new Set(inText).size === 1;
  if (!isSure || str.match(TURNED)?.length !== inText.length) return str.replace(SURELY_TURNED, "\u0627\u0644$1");
  let pair = 0;
  return str.replace(TURNED, (both) => (inText[pair++] === true ? `\u0644${both.charAt(0)}` : both));
}

/** For each pair of lam and alef as drawn, from the left: whether one glyph is both. */
function pairsDrawn(glyphs: readonly string[]): readonly boolean[] {
  const starts = new Set<number>();
  let text = "";
  for (const glyph of glyphs) {
    if (glyph.length > 1) starts.add(text.length);
    text += glyph;
  }
  return [...text.matchAll(DRAWN)].map(({ index }) => starts.has(index));
}

/** Units that are no space. */
function unitsOf(text: string): number {
  return text.replace(/\s/g, "").length;
}

function isMadeOf(text: string, glyphs: readonly string[]): boolean {
  const sorted = (letters: string) => letters.replace(/\s/g, "").split("").sort().join("");
  return sorted(text) === sorted(glyphs.join(""));
}
