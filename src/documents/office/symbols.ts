// Maps characters of symbol fonts to Unicode. Word stores such a character as a position in its font (ECMA-376-1,
// 17.3.3.30).

/** Greek letters of the font Symbol: those at the positions from 0x41 on, and those from 0x61 on. */
const GREEK_UPPER = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
const GREEK_LOWER = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ";
const SIGNS: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  symbol: { 177: "±", 179: "≥", 163: "≤", 180: "×", 184: "÷", 185: "≠", 187: "≈", 165: "∞", 174: "→", 183: "•" },
  "wingdings 2": { 80: "✓", 79: "✗", 82: "☑", 81: "☒", 84: "☒", 83: "☒", 163: "☐", 42: "☐", 48: "☐" },
  webdings: { 97: "✓", 114: "✗", 99: "☐" },
  wingdings: { 252: "✓", 251: "✗", 254: "☑", 253: "☒", 168: "☐", 111: "☐", 224: "→", 223: "←", 74: "☺" },
};

/**
 * The character at a position in a font; empty if it has no equivalent in Unicode.
 * @param char position in hexadecimal. Positions in symbol fonts are stored with F000 added.
 */
export function symbolOf(char: string, font: string): string {
  if (!/^[0-9a-f]{1,6}$/i.test(char)) return "";
  const code = Number.parseInt(char, 16);
  if (code > 0x10_ffff) return "";
  const position = code >= 0xf000 && code <= 0xf0ff ? code - 0xf000 : code;
  const name = font.toLowerCase();
  const sign = SIGNS[name]?.[position];
  if (sign !== undefined) return sign;
  if (name === "symbol" && position >= 0x41 && position <= 0x5a) return GREEK_UPPER[position - 0x41] ?? "";
  if (name === "symbol" && position >= 0x61 && position <= 0x7a) return GREEK_LOWER[position - 0x61] ?? "";
  const isFontPosition = position !== code || (code >= 0xe000 && code <= 0xf8ff);
  const isSymbolFont = name === "symbol" || name.startsWith("wingdings") || name === "webdings";
  return isFontPosition || isSymbolFont ? "" : String.fromCodePoint(code);
}
