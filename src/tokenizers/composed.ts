// Composes a text (Unicode NFC), and finds the place in the given text for a place in the composed one.

/** A composed text. */
export interface ComposedText {
  readonly text: string;
  /**
   * Maps an offset in `text` to the offset in the given text at which its character begins. Both in UTF-16 code units.
   */
  readonly placeOf: (place: number) => number;
}

const GRAPHEMES = new Intl.Segmenter("und", { granularity: "grapheme" });

/** Composes a text. Lone halves of surrogate pairs are replaced, which moves no place. */
export function composed(given: string): ComposedText {
  const wellFormed = given.toWellFormed();
  const text = wellFormed.normalize("NFC");
  if (text === wellFormed) return { text, placeOf: (place) => place };
  // no composition crosses the boundary of a grapheme cluster
  const begins = new Int32Array(text.length + 1).fill(-1);
  let at = 0;
  for (const { segment, index } of GRAPHEMES.segment(wellFormed)) {
    const composedLength = segment.normalize("NFC").length;
    const isSame = composedLength === segment.length;
    for (let unit = 0; unit < composedLength && at + unit < begins.length; unit += 1) {
      begins[at + unit] = isSame ? index + unit : index;
    }
    at += composedLength;
  }
  begins[text.length] = given.length;
  return { text, placeOf: (place) => begins[Math.min(place, text.length)] ?? given.length };
}
