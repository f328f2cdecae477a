// Repairs the order of alef and lam in Arabic lines. Arabic draws lam and alef as one glyph, which Word maps to both
// letters. pdf.js reverses the letters of a line from drawing order, including the two of that glyph:
// "\u062e\u0644\u0627\u0644" becomes "\u062e\u0627\u0644\u0644". Only the glyphs distinguish this reversed pair from
// the article, which really is alef and lam.

/** A text item of pdf.js. Its letters are in logical order, into which pdf.js has reversed them. */
export interface ReversedText {
  readonly str: string;
  /** Direction of most of the text: `ltr`, `rtl` or `ttb`. */
  readonly dir: string;
}

/** Matches alef (with any diacritic) and lam: the article, or a reversed ligature. */
const REVERSED = /[\u0622\u0623\u0625\u0627]\u0644/g;
/** Matches the same pair in drawing order. */
const DRAWN = /\u0644[\u0622\u0623\u0625\u0627]/g;
/** A pair after another alef is certainly a reversed ligature, even without the glyphs. */
const CERTAINLY_REVERSED = /\u0627([\u0622\u0623\u0625])\u0644/g;

/** Whether a text has pairs whose order depends on the glyphs. */
export function mayHoldLigatures(text: string): boolean {
  return text.search(REVERSED) !== -1;
}

/**
 * The items with lam and alef in the right order.
 * @param glyphs the text of each glyph of the page in drawing order; spaces may be missing. If an item does not match
 *   the glyphs, then in this and all later items only those pairs are repaired that are certain without glyphs.
 */
export function withLigaturesInOrder<T extends ReversedText>(
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
      return { ...item, str: item.str.replace(CERTAINLY_REVERSED, "\u0627\u0644$1") };
    }
    return mayHoldLigatures(item.str) ? { ...item, str: repaired(item, own) } : item;
  });
}

function repaired({ str, dir }: ReversedText, glyphs: readonly string[]): string {
  const areLigatures = pairsDrawn(glyphs);
  // the pairs in the order of right-to-left text; in left-to-right text the order of the words is unknown
  const inText = dir === "rtl" ? areLigatures.toReversed() : areLigatures;
  const isCertain = dir === "rtl" || new Set(inText).size === 1;
  if (!isCertain || str.match(REVERSED)?.length !== inText.length)
    return str.replace(CERTAINLY_REVERSED, "\u0627\u0644$1");
  let pair = 0;
  return str.replace(REVERSED, (both) => (inText[pair++] === true ? `\u0644${both.charAt(0)}` : both));
}

/** For each pair of lam and alef, from left to right as drawn, whether the pair is a single glyph. */
function pairsDrawn(glyphs: readonly string[]): readonly boolean[] {
  const starts = new Set<number>();
  let text = "";
  for (const glyph of glyphs) {
    if (glyph.length > 1) starts.add(text.length);
    text += glyph;
  }
  return [...text.matchAll(DRAWN)].map(({ index }) => starts.has(index));
}

/** Number of UTF-16 code units without white space. */
function unitsOf(text: string): number {
  return text.replace(/\s/g, "").length;
}

function isMadeOf(text: string, glyphs: readonly string[]): boolean {
  const sorted = (letters: string) => letters.replace(/\s/g, "").split("").sort().join("");
  return sorted(text) === sorted(glyphs.join(""));
}
