// Do the models read the language of a question? Where they do not, full text takes part whatever the mode (modes.ts).

/** Share of a question's letters that may stand in scripts of other languages: foreign names. */
const FOREIGN_SHARE_MAX = 0.3;

/** Scripts (ISO 15924) that are mixtures of others. */
const MIXTURES: Readonly<Record<string, readonly string[]>> = {
  Jpan: ["Hiragana", "Katakana", "Han"],
  Kore: ["Hangul", "Han"],
  Hans: ["Han"],
  Hant: ["Han"],
};

/**
 * Whether models made for these languages read a text. What is in no language that could be told counts by its script.
 * @param language of the text, BCP 47; `und` when unsure.
 * @param languages of the models, BCP 47.
 */
export function areRead(text: string, language: string, languages: readonly string[]): boolean {
  if (!isWrittenIn(text, languages)) return false;
  return language === "und" || languages.some((known) => primaryOf(known) === primaryOf(language));
}

/** Whether most letters of a text are of scripts that these languages are written in. */
export function isWrittenIn(text: string, languages: readonly string[]): boolean {
  const letters = text.match(/\p{L}/gu) ?? [];
  if (letters.length === 0) return true;
  const scripts = [...new Set(languages.flatMap(scriptsOf))];
  const known = new RegExp(`[${scripts.map((script) => `\\p{Script=${script}}`).join("")}]`, "u");
  const foreign = letters.filter((letter) => !known.test(letter)).length;
  return foreign <= FOREIGN_SHARE_MAX * letters.length;
}

function scriptsOf(language: string): readonly string[] {
  const script = new Intl.Locale(language).maximize().script ?? "Latn";
  return MIXTURES[script] ?? [script];
}

function primaryOf(language: string): string {
  return new Intl.Locale(language).language;
}
