// What characters of symbol fonts mean elsewhere: Word keeps them as places in the font (ECMA-376-1, 17.3.3.30).

/** Greek letters of the font Symbol, from 0x41 and from 0x61 on. */
const GREEK_UPPER = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
const GREEK_LOWER = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ";
const SIGNS: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  symbol: { 177: "±", 179: "≥", 163: "≤", 180: "×", 184: "÷", 185: "≠", 187: "≈", 165: "∞", 174: "→", 183: "•" },
  wingdings: { 252: "✓", 251: "✗", 254: "☑", 253: "☒", 168: "☐", 111: "☐", 224: "→", 223: "←", 74: "☺" },
};

/**
 * The character at a place in a font; empty for one that has no meaning outside of it.
 * @param char hexadecimal; from F000 on for places in symbol fonts
 */
export function symbolOf(char: string, font: string): string {
  if (!/^[0-9a-f]{1,6}$/i.test(char)) return "";
  const code = Number.parseInt(char, 16);
  if (code > 0x10_ffff) return "";
  const place = code >= 0xf000 && code <= 0xf0ff ? code - 0xf000 : code;
  const name = font.toLowerCase();
  const sign = SIGNS[name]?.[place];
  if (sign !== undefined) return sign;
  if (name === "symbol" && place >= 0x41 && place <= 0x5a) return GREEK_UPPER[place - 0x41] ?? "";
  if (name === "symbol" && place >= 0x61 && place <= 0x7a) return GREEK_LOWER[place - 0x61] ?? "";
  const isPlace = place !== code || (code >= 0xe000 && code <= 0xf8ff);
  const isOfSymbols = name === "symbol" || name.startsWith("wingdings") || name === "webdings";
  return isPlace || isOfSymbols ? "" : String.fromCodePoint(code);
}
