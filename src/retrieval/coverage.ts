// Decides whether the models support the language of a query, and whether its script is written without spaces.
// modes.ts then changes the mode: in a language that is not supported, every mode uses full text.

import { isAscii } from "../kit/ascii.ts";

/** Maximum share of a query's letters in unsupported scripts. Allows for foreign names. */
const FOREIGN_SHARE_MAX = 0.3;

/** Matches a letter of a script that is written without spaces between words. */
const UNSPACED_LETTER =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** ISO 15924 codes that are no Unicode scripts, and the scripts that they stand for. */
const COMBINED_SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  Jpan: ["Hiragana", "Katakana", "Han"],
  Kore: ["Hangul", "Han"],
  Hans: ["Han"],
  Hant: ["Han"],
};

/**
 * Whether models for these languages support a text. If its language is unknown (`und`), only the script counts.
 * @param language of the text, BCP 47; `und` if unsure
 * @param languages of the models, BCP 47; empty: unknown, so any language is supported
 */
export function isLanguageSupported(text: string, language: string, languages: readonly string[]): boolean {
  if (!isScriptSupported(text, languages)) return false;
  if (languages.length === 0) return true;
  return language === "und" || languages.includes(language) || coverageOf(languages).primary.has(primaryOf(language));
}

/** Whether at least 70 % of a text's letters are in scripts of these languages. Without languages, any script is. */
export function isScriptSupported(text: string, languages: readonly string[]): boolean {
  if (languages.length === 0) return true;
  const { letter: known } = coverageOf(languages);
  if (isAscii(text) && known.test("a")) return true;
  const letters = text.match(/\p{L}/gu) ?? [];
  if (letters.length === 0) return true;
  const foreign = letters.filter((letter) => !known.test(letter)).length;
  return foreign <= FOREIGN_SHARE_MAX * letters.length;
}

/** Whether most letters of a text are of scripts that are written without spaces, such as Chinese and Thai. */
export function isUnspaced(text: string): boolean {
  if (isAscii(text)) return false;
  const letters = text.match(/\p{L}/gu) ?? [];
  return 2 * letters.filter((letter) => UNSPACED_LETTER.test(letter)).length > letters.length;
}

interface Coverage {
  /** Primary language subtags, such as `en`. */
  readonly primary: ReadonlySet<string>;
  /** Matches a letter in a script of the languages. */
  readonly letter: RegExp;
}

/** Coverage of the language lists of the installed models, which are few and have up to 100 languages. */
const coverages = new WeakMap<readonly string[], Coverage>();

function coverageOf(languages: readonly string[]): Coverage {
  const known = coverages.get(languages);
  if (known !== undefined) return known;
  const scripts = [...new Set(languages.flatMap(scriptsOf))];
  const coverage = {
    primary: new Set(languages.map(primaryOf)),
    letter: new RegExp(`[${scripts.map((script) => `\\p{Script=${script}}`).join("")}]`, "u"),
  };
  coverages.set(languages, coverage);
  return coverage;
}

function scriptsOf(language: string): readonly string[] {
  const script = new Intl.Locale(language).maximize().script ?? "Latn";
  return COMBINED_SCRIPTS[script] ?? [script];
}

function primaryOf(language: string): string {
  return new Intl.Locale(language).language;
}
