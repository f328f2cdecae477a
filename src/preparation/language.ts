// Detects the language of a text as a BCP 47 tag: by its script if only one language uses that script, else by n-grams
// (package `eld`). close-languages.ts distinguishes related languages. Both forms of Norwegian are `no`. Serbian and
// Bosnian in Latin letters are `hr`, because most of their sentences could also be Croatian.

import { eld } from "eld/extrasmall";
import { hasStopWords, stopWordsOf } from "../words/stop-words.ts";
import { resolveRelatedLanguage, slavicLanguage } from "./close-languages.ts";

/** The tag for "undetermined" (RFC 5646, section 4.1). */
export const UNDETERMINED = "und";

/**
 * Length, in UTF-16 code units, of each of the three samples of a text: from its beginning, middle and end. Samples of
 * twice this length changed no result.
 */
const SAMPLE_UNITS = 160;
/**
 * Minimum number of letters for n-grams. With fewer they are unreliable: the Russian "Здравствуйте" would be Bulgarian.
 */
const LETTERS_MIN = 12;
/**
 * In a text of at most this many letters, the score of the best language must exceed that of the second one by
 * `SHORT_LEAD_MIN`.
 */
const SHORT_LETTERS = 24;
const SHORT_LEAD_MIN = 0.02;
/**
 * A text with at least this share of English function words is English even if n-grams prefer another language,
 * provided that English scores nearly as well. The reason: English texts about foreign places and people are full of
 * foreign names. Of 26,222 English passages (SciFact, LoCoMo, HotpotQA, 2WikiMultihop and Cranfield corpora, 21 Nov
 * 2026) 51 are detected as something else, half of them `und`.
 */
const ENGLISH_SHARE_MIN = 0.2;
/**
 * Maximum difference between the scores of the best language and of English in that case. Norwegian texts, which also
 * have the words "i" and "time", have a larger one and stay Norwegian.
 */
const ENGLISH_GAP_MAX = 0.2;
/**
 * A text with at least this share of code characters (brackets, operators) has no language unless at least
 * `PROSE_SHARE_MIN` of its words are function words. Prose with links and Markdown emphasis has a share below 0.05.
 */
const CODE_SHARE_MIN = 0.1;
const PROSE_SHARE_MIN = 0.2;
/** Minimum n-gram score of a Cyrillic text. With a lower score, its letters are not words of a known language. */
const CYRILLIC_SCORE_MIN = 0.65;
/**
 * Parts that belong to no language: addresses, markup and entities. Repetitions after which more must match are
 * bounded, to keep the search linear.
 */
const NOISE =
  /(?:https?:\/\/|www\.)[\x21-\x7e]+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,255}|<\/?[a-z][^<>]{0,200}>|&#?\w{1,10};/gi;
/** Weight of a character in scripts where one character carries about as much information as three letters. */
const SYLLABLE_WEIGHT = 3;

/** Scripts that only, or almost only, one language uses. Han characters are Chinese unless the text is Japanese. */
const SCRIPTS: readonly { readonly language: string; readonly script: RegExp; readonly weight: number }[] = [
  { language: "ja", script: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu, weight: SYLLABLE_WEIGHT },
  { language: "zh", script: /\p{Script=Han}/gu, weight: SYLLABLE_WEIGHT },
  { language: "ko", script: /\p{Script=Hangul}/gu, weight: SYLLABLE_WEIGHT },
  { language: "th", script: /\p{Script=Thai}/gu, weight: 1 },
  { language: "lo", script: /\p{Script=Lao}/gu, weight: 1 },
  { language: "km", script: /\p{Script=Khmer}/gu, weight: 1 },
  { language: "my", script: /\p{Script=Myanmar}/gu, weight: 1 },
  { language: "bo", script: /\p{Script=Tibetan}/gu, weight: 1 },
  { language: "si", script: /\p{Script=Sinhala}/gu, weight: 1 },
  { language: "el", script: /\p{Script=Greek}/gu, weight: 1 },
  { language: "hy", script: /\p{Script=Armenian}/gu, weight: 1 },
  { language: "ka", script: /\p{Script=Georgian}/gu, weight: 1 },
  { language: "he", script: /\p{Script=Hebrew}/gu, weight: 1 },
  { language: "am", script: /\p{Script=Ethiopic}/gu, weight: 1 },
  { language: "bn", script: /\p{Script=Bengali}/gu, weight: 1 },
  { language: "pa", script: /\p{Script=Gurmukhi}/gu, weight: 1 },
  { language: "gu", script: /\p{Script=Gujarati}/gu, weight: 1 },
  { language: "or", script: /\p{Script=Oriya}/gu, weight: 1 },
  { language: "ta", script: /\p{Script=Tamil}/gu, weight: 1 },
  { language: "te", script: /\p{Script=Telugu}/gu, weight: 1 },
  { language: "kn", script: /\p{Script=Kannada}/gu, weight: 1 },
  { language: "ml", script: /\p{Script=Malayalam}/gu, weight: 1 },
];
/**
 * Han characters in forms that only Japanese uses, not Chinese, whether simplified or traditional. If a tenth of the
 * Han characters are of these, a text without kana, such as an address or a heading, is Japanese. The share is needed
 * because a Chinese text may name a place in Japan.
 */
const JAPANESE_FORMS =
  /[円駅県図広売読発気働込畑峠枠栃渋沢帰実関応対総経済労営検験転軽団囲圏変従様歴産単鉄辺遅釈雑駆騒黒齢訳択拝桜楽権満焼絵継続縄聴薬蔵覚観譲豊鉱髪鶏]/gu;
const JAPANESE_FORMS_SHARE_MIN = 0.1;
/**
 * Characters that may belong to a script of the list: code points from Greek on, except U+1E00 to U+2BFF (more Latin
 * and Greek letters, punctuation, symbols). A text without any of them uses no such script.
 */
const BEYOND_LATIN = /[\u0370-\u1dff\u2c00-\uffff]/;
/** Minimum share of kana among kana and Han characters in a Japanese text. A Chinese text may quote a few kana. */
const KANA_SHARE_MIN = 0.1;

/** The language of a text; `und` if the text is too short or too mixed to decide. Takes about 0.2 ms for any length. */
export function detectLanguage(content: string): string {
  const sample = sampleOf(content).replace(NOISE, " ");
  let letters = 0;
  for (const run of sample.match(/[\p{L}\p{M}]+/gu) ?? []) letters += run.length;
  if (letters === 0) return UNDETERMINED;
  return languageByScript(sample, letters) ?? languageByNgrams(sample);
}

function sampleOf(content: string): string {
  if (content.length <= 3 * SAMPLE_UNITS) return content;
  const middle = content.length >> 1;
  return [0, middle, content.length - SAMPLE_UNITS]
    .map((start) => content.slice(start, start + SAMPLE_UNITS))
    .join("\n");
}

function languageByScript(sample: string, letters: number): string | null {
  if (!BEYOND_LATIN.test(sample)) return null;
  const counts = SCRIPTS.map(({ language, script, weight }) => {
    const count = sample.match(script)?.length ?? 0;
    return { language, count, weighted: count * weight };
  }).filter(({ count }) => count > 0);
  let known = 0;
  let weightedLetters = letters;
  for (const { count, weighted } of counts) {
    known += weighted;
    weightedLetters += weighted - count;
  }
  if (known * 2 < weightedLetters) return null;

  const han = counts.find(({ language }) => language === "zh")?.count ?? 0;
  const kana = counts.find(({ language }) => language === "ja")?.count ?? 0;
  const isJapanese =
    kana > 0
      ? kana >= (kana + han) * KANA_SHARE_MIN
      : han > 0 && (sample.match(JAPANESE_FORMS)?.length ?? 0) >= han * JAPANESE_FORMS_SHARE_MIN;
  const weights = counts.map(({ language, weighted }) =>
    language === "zh" && isJapanese ? { language: "ja", weighted } : { language, weighted },
  );
  return weights.reduce((best, next) => (next.weighted > best.weighted ? next : best)).language;
}

function languageByNgrams(sample: string): string {
  // Versions, amounts, keys and variable names contain letters but are not words.
  const text = sample
    .split(/\s+/)
    .filter((token) => !/[\d_\\]/.test(token))
    .join(" ");
  const words = text.toLowerCase().match(/[\p{L}\p{M}'’]+/gu) ?? [];
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  if (letters < LETTERS_MIN) return UNDETERMINED;
  const detected = eld.detect(text);
  const scores = detected.getScores();
  const cyrillic = text.match(/\p{Script=Cyrillic}/gu)?.length ?? 0;
  if (cyrillic * 2 > letters) {
    const slavic = slavicLanguage(text, scores);
    return slavic === null || Math.max(...Object.values(scores)) < CYRILLIC_SCORE_MIN ? UNDETERMINED : slavic;
  }
  if (detected.language === "") return UNDETERMINED;
  if (!detected.isReliable() && functionWordShare(words, detected.language) < PROSE_SHARE_MIN) return UNDETERMINED;
  if (letters <= SHORT_LETTERS) {
    const [best = 0, second = 0] = Object.values(scores).sort((a, b) => b - a);
    if (best - second < SHORT_LEAD_MIN) return UNDETERMINED;
  }
  const isEnglishClose = (scores.en ?? 0) >= (scores[detected.language] ?? 0) - ENGLISH_GAP_MAX;
  const isEnglish = isEnglishClose && isEnglishByFunctionWords(words, detected.language);
  const language = isEnglish ? "en" : resolveRelatedLanguage(detected.language, words);
  const codeCharacters = sample.match(/[{}[\]()<>=;|&+*/\\_$#@]/g)?.length ?? 0;
  const isProse = codeCharacters < CODE_SHARE_MIN * (codeCharacters + letters);
  return isProse || functionWordShare(words, language) >= PROSE_SHARE_MIN ? language : UNDETERMINED;
}

/**
 * Whether a text is English although n-grams prefer another language: it has enough English function words, and more of
 * them than function words of that language.
 */
function isEnglishByFunctionWords(words: readonly string[], language: string): boolean {
  const english = functionWordShare(words, "en");
  return english >= ENGLISH_SHARE_MIN && english > functionWordShare(words, language);
}

/** Share of the words that are function words of a language; 0 for a language without a list. */
function functionWordShare(words: readonly string[], language: string): number {
  if (!hasStopWords(language)) return 0;
  const stopWords = stopWordsOf(language);
  return words.filter((word) => stopWords.has(word)).length / words.length;
}
