// Writes superscripts and subscripts as plain text, in the same notation for all formats: powers as `10^6`, marks of
// notes as `1997[12]`, indices as `x_i`. Without a mark, `10` and a raised `6` would become the number 106. Ordinal
// numbers (`1st`), abbreviations (`Mme`), trademark signs and chemical formulas (`H2O`) stay as they are: there the
// position of the letters has no meaning.

/** What is known about a superscript, besides its text. */
export interface SuperscriptPlace {
  /** The text before it on the same line. */
  readonly before: string;
  /** The text after it on the same line; empty if it is unknown. */
  readonly after: string;
  /** Whether it certainly is the mark of a note, for example because it is a link to the note. */
  readonly isNote: boolean;
  /** Whether notes of the text are links, so that the raised number of a price is no note. */
  readonly hasLinkedNotes?: boolean;
  /** Marks with which notes on the same page begin. */
  readonly notes?: ReadonlySet<string>;
}

/** Number of UTF-16 code units before a script that are considered. */
const BEFORE_UNITS = 80;
/** Maximum length of a script in UTF-16 code units. A longer text is not a script. */
export const SCRIPT_UNITS_MAX = 24;

const NUMBER = /^[-+−–]?\d{1,4}(?:[.,]\d{1,3})?$/;
const SIGNED = /^[-+−–]\s?\d{1,4}(?:[.,]\d{1,3})?$/;
/** Marks of notes: numbers, letters or symbols, also several with separators between them. */
const MARKS = /^[[(]?((?:\d{1,3}|[a-z]|[*†‡§¶#]{1,3})(?:\s?[,;–-]\s?(?:\d{1,3}|[a-z]|[*†‡§¶#]{1,3})){0,11})[\])]?$/iu;
const NUMBER_MARKS = /^[[(]?\d{1,3}(?:\s?[,;–-]\s?(?:\d{1,3}|[*†‡§¶]{1,3})){0,11}[\])]?$/;
/** Matches units that are squared or cubed. Units that are words, too, need a number before them. */
const SQUARED_UNIT =
  /(?:(?<![\p{L}\p{M}])(?:[kcmdhµμnp]?m|[kM]?ha|km|mi|yd|ft|mile|miles|inch|inches|foot|feet|yards?|acre|met(?:er|re)s?|Meter|mètres?|metros?|metri|s|sec|h|min|kg|px|[kM]?Pa|[kMGT]?Wh?|[kMm]?[VA]|K|T|N|J|м|км|см|мм|с)|(?<=[\d\s\u00a0])(?:in|m\.?|pi|po))$/u;
/** Matches functions and quantities that are squared, at the end of a text. */
const SQUARED_NAME = /(?<![\p{L}\p{M}])(?:sin|cos|tan|cot|sec|csc|log|ln|exp|sinh|cosh|tanh|chi|adj\.? ?R|mc)$/iu;
/** Matches 10 at the end of a text: alone, or after a factor. */
const POWER_OF_TEN = /(?:^|[^\p{L}\p{N}.,'’])10$/u;
const FACTOR_BEFORE_TEN = /[×x·⋅∙*•]\s?10$/u;
const SMALL_BASE = /(?:^|[^\p{L}\p{N}.,'’])\d{1,2}$/u;
const OPERATOR_BEHIND = /^\s?[=+−×·÷*/<>≈≤≥^)\]]/u;
const OPERATOR_BEFORE = /[=+−×·÷*/<>≈≤≥(√∑∫]\s?(?:\d{1,2}|\p{L}{1,2})$/u;
const SHORT_NUMBER = /(?<![\p{N}.,'’])\d{1,3}[.\s]?$/u;
/** A whole number of units of a currency, which is written before it or after its cents. */
const PRICE = /\p{Sc}\s?\d{1,3}(?:[.,'’\s]?\d{3})*$/u;
const PRICE_AHEAD = /^\s?\p{Sc}/u;
const FRACTION = /^\d{1,2}\s?[\u2044/]\s?\d{1,3}$/u;
/** The rest of a fraction behind a raised numerator: its denominator is a number, or follows as a script. */
const FRACTION_AHEAD = /^[\u2044/]\s?(?:\d|$)/u;
/** An index at the end of a text. */
const INDEX = /\p{L}_(?:[\p{L}\p{N}]+|\([^()]*\))$/u;
/** A single letter that is a variable, at the end of a text. */
const VARIABLE = /(?<![\p{L}\p{M}\p{N}'’])\p{L}$/u;
/** Endings of ordinal numbers in European languages. */
const ORDINAL =
  /^(?:st|nd|rd|th|er|re|ère|ere|d|nd|nde|e|è|ᵉ|ème|eme|es|ième|os?|as?|º|ª|\.º|\.ª|ro|do|ra|da|to|ta|mo|ma|vo|va|no|na|de|ste|:?a|:?e|й|я|е|го|ой|ый)$/iu;
const ROMAN = /(?<![\p{L}\p{M}])[IVXLCivxlc]+$/u;
/** Matches a chemical element after a mass number. */
export const ISOTOPE =
  /^(?:H|He|Li|Be|B|C|N|O|F|Ne|Na|P|S|Cl|K|Ca|Cr|Fe|Co|Ga|Sr|Tc|I|Xe|Cs|Tl|Pb|Po|Rn|Ra|Th|U|Pu|Am)(?!\p{L})/u;
/** A bracketed term of a formula at the end of a text, in contrast to a remark in prose. */
const TERM = /\((?:[^()\s]{1,12}|[^()]{0,40}[+−–×·/=*-][^()]{0,40})\)$/u;
/** What a chemical formula has before a lowered number: an element or a group. */
const FORMULA = /(?:(?<!\p{Ll})[A-Z][a-z]?|[A-Z\d][a-z]?\)|\])$/u;

/**
 * Writes a superscript after the text `before`: as an exponent (`^6`), as marks of notes (`[12]`), or unchanged. It
 * never continues a number.
 */
export function superscript(
  written: string,
  { before, after, isNote, notes, hasLinkedNotes = false }: SuperscriptPlace,
): string {
  const text = written.trim();
  if (text === "" || text.length > SCRIPT_UNITS_MAX) return written;
  const base = before.slice(-BEFORE_UNITS);
  const isAdjoining = base !== "" && !/\s$/.test(base);
  const marks = MARKS.exec(text)?.[1];
  if (isNote && marks !== undefined) return `[${marks}]`;
  if (FRACTION.test(text)) return /\d$/.test(base) ? ` ${text}` : text;
  if (FRACTION_AHEAD.test(after) && !FACTOR_BEFORE_TEN.test(base)) return /\d$/.test(base) ? ` ${text}` : text;
  if (/^[oO0○◦°]$/.test(text) && /\d\s?$/.test(base) && /^\s?[CFKNSEWO](?!\p{L})/u.test(after)) return "°";
  if (SIGNED.test(text) || /^[\d]?[-+−–]$/.test(text)) return isAdjoining ? `^${text.replace(/\s/g, "")}` : text;
  if ((!isAdjoining || /[([]$/.test(base)) && NUMBER.test(text) && ISOTOPE.test(after)) return `^${text}`;
  if (hasLinkedNotes && /^\d\d$/.test(text)) {
    if (PRICE.test(base)) return `.${text}`;
    if (/\d$/.test(base) && PRICE_AHEAD.test(after)) return `,${text}`;
  }
  if (NUMBER_MARKS.test(text)) return numberBehind(text, base, after, notes);
  if (NUMBER.test(text)) return /[\p{N}\p{L})\]]$/u.test(base) ? `^${text}` : text;
  if (!isAdjoining) return marks !== undefined && notes?.has(text) === true ? `[${marks}]` : written;
  return lettersBehind(text, base, marks, notes);
}

/** Writes a raised number, or several with separators. */
function numberBehind(text: string, base: string, after: string, notes: ReadonlySet<string> | undefined): string {
  const mark = MARKS.exec(text)?.[1] ?? text;
  const asNote = `[${mark}]`;
  if (!/^\d+$/.test(text)) return asNote;
  const asPower = `^${text}`;
  const value = Number(text);
  const close = base.trimEnd();
  if (FACTOR_BEFORE_TEN.test(close)) return asPower;
  if ((value === 2 || value === 3) && (SQUARED_UNIT.test(close) || SQUARED_NAME.test(close))) return asPower;
  if (close !== base || base === "") return asNote;
  if (OPERATOR_BEFORE.test(base) || INDEX.test(base)) return asPower;
  if (notes?.has(text) === true && !/(?<![\p{L}\p{M}])[\p{Ll}R]$/u.test(base)) return asNote;
  if (POWER_OF_TEN.test(base)) return asPower;
  if (SMALL_BASE.test(base) && (OPERATOR_BEHIND.test(after) || (/(?:^|\D)2$/.test(base) && value > 2))) return asPower;
  if (/\p{N}$/u.test(base)) return asNote;
  if (VARIABLE.test(base) || /[)\]}|]$/.test(base)) return VARIABLE.test(base) || TERM.test(base) ? asPower : asNote;
  return asNote;
}

/** Writes raised letters or symbols. */
function lettersBehind(
  text: string,
  base: string,
  marks: string | undefined,
  notes: ReadonlySet<string> | undefined,
): string {
  const isMark = marks !== undefined && (notes?.has(text) === true || /[,;]/.test(text));
  const isOrdinal = ORDINAL.test(text) && (SHORT_NUMBER.test(base) || ROMAN.test(base) || /(?<!\p{L})n$/iu.test(base));
  if (isMark && !isOrdinal) return `[${marks}]`;
  if (isOrdinal || !/^[\p{L}\p{N}+−–*/()=-]+$/u.test(text)) return text;
  if (/\d$/.test(base)) {
    if (/^(?:[nkmxijNKMX]|\p{L}{0,2}[+−-].*)$/u.test(text)) return `^${grouped(text)}`;
    return marks === undefined ? text : `[${marks}]`;
  }
  const isVariable = /(?<![\p{L}\p{M}\p{N}'’])[\p{Ll}\p{Script=Greek}]$/u.test(base) || TERM.test(base);
  const isPower = isVariable ? !/^(?:os?|a|as|ro|do)$/.test(text) : VARIABLE.test(base) && /^[Tnkijxyt+*]$/.test(text);
  return isPower ? `^${grouped(text)}` : text;
}

/** Writes a subscript after the text `before`: as `_i`, or unchanged in a chemical formula. */
export function subscript(
  written: string,
  { before, after }: { readonly before: string; readonly after: string },
): string {
  const text = written.trim();
  const base = before.slice(-BEFORE_UNITS);
  if (text === "" || text.length > SCRIPT_UNITS_MAX || !/^[\p{L}\p{N}+−–*,.()=<>≤≥/'′-]+$/u.test(text)) return written;
  // the denominator of a fraction, or a script without a base
  if (/[\u2044/\s]$/u.test(base) || base === "") return text;
  if (!/[\p{L}\p{N})\]}'’′]$/u.test(base)) return text;
  if (/^\d{1,3}(?:[.,]\d)?$/.test(text) && FORMULA.test(base)) return text;
  // a letter after it would be read as part of the index
  const end = /^[\p{L}\p{N}]/u.test(after) && /[\p{L}\p{N}]$/u.test(text) ? " " : "";
  return `_${grouped(text)}${end}`;
}

/** Adds parentheses around a text, unless it is a single number or name. */
function grouped(text: string): string {
  return /^(?:[\p{L}\p{N}.,′']*|.|\([^()]*\))$/su.test(text) ? text : `(${text})`;
}

/** Whether a text that follows another would continue its last word or number. */
export function continuesWord(before: string, text: string): boolean {
  return /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(text);
}
