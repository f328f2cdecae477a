// Which language a text is in, as a BCP 47 tag: by its script where that decides, else by n-grams (eld). Which of two close
// languages it is, close-languages.ts says. Norwegian is `no` in both of its forms, and Serbian or Bosnian in Latin letters
// is `hr`: a sentence of it is a sentence of Croatian too.

import { eld } from "eld/extrasmall";
import { hasStopWords, stopWordsOf } from "../kit/stop-words.ts";
import { neighbourOf, slavicOf } from "./close-languages.ts";

/** The tag for "undetermined" (RFC 5646, section 4.1). */
export const UNDETERMINED = "und";

/** Units that are looked at, from the beginning, the middle and the end of a text: twice as many changed no answer. */
const SAMPLE_UNITS = 160;
/** Letters below which n-grams guess: "Здравствуйте" comes out as Bulgarian. */
const LETTERS_MIN = 12;
/** Up to this many letters, the best language must lead the second by `SHORT_LEAD_MIN`. */
const SHORT_LETTERS = 24;
const SHORT_LEAD_MIN = 0.02;
/**
 * Share of English function words from which n-grams are not believed, where English scores nearly as well: English about
 * places and people elsewhere is full of foreign names. Of 26,222 English passages (SciFact, LoCoMo, HotpotQA,
 * 2WikiMultihop and Cranfield corpora, 21 Nov 2026) 51 come out as something else, half of them `und`.
 */
const ENGLISH_SHARE_MIN = 0.2;
/** Norwegian has the words "i" and "time" too, but English scores more than 0.2 less there. */
const ENGLISH_GAP_MAX = 0.2;
/**
 * Share of signs that programs, tables and data are written with, from which a text is in no language unless at least
 * `PROSE_SHARE_MIN` of its words are function words. Prose with links and emphasis stays below a twentieth.
 */
const CODE_SIGN_SHARE_MIN = 0.1;
const PROSE_SHARE_MIN = 0.2;
/** Score of n-grams below which Cyrillic letters are no words. */
const CYRILLIC_SCORE_MIN = 0.65;
/** What is in no language: addresses, markup, and entities. Each alternative is bounded, so that the search is linear. */
const NOISE =
  /(?:https?:\/\/|www\.)[\x21-\x7e]+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,255}|<\/?[a-z][^<>]{0,200}>|&#?\w{1,10};/gi;
/** A character of these scripts says about as much as three letters of an alphabet. */
const SYLLABLE_WEIGHT = 3;

/** Scripts that one language alone writes, or nearly so. Han is Chinese where no kana stand beside it. */
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
 * Han characters as Japan alone writes them: neither simplified nor traditional Chinese has these forms. They tell an address
 * or a heading without kana, where one in ten is of them; a Chinese text may name a place in Japan.
 */
const JAPANESE_FORMS =
  /[円駅県図広売読発気働込畑峠枠栃渋沢帰実関応対総経済労営検験転軽団囲圏変従様歴産単鉄辺遅釈雑駆騒黒齢訳択拝桜楽権満焼絵継続縄聴薬蔵覚観譲豊鉱髪鶏]/gu;
const JAPANESE_FORMS_SHARE_MIN = 0.1;
/** Greek and everything after it but punctuation and symbols: without such a character no script of the list occurs. */
const BEYOND_LATIN = /[\u0370-\u1dff\u2c00-\uffff]/;
/** Share of kana among kana and Han from which a text is Japanese; a Chinese text may quote a few. */
const KANA_SHARE_MIN = 0.1;

/**
 * The language of a text, or `und` when it is too short or too mixed to tell.
 * Cost: about 0.2 ms, whatever the text's length.
 */
export function detectLanguage(content: string): string {
  const sample = sampleOf(content).replace(NOISE, " ");
  let letters = 0;
  for (const run of sample.match(/[\p{L}\p{M}]+/gu) ?? []) letters += run.length;
  if (letters === 0) return UNDETERMINED;
  return byScript(sample, letters) ?? byNgrams(sample);
}

function sampleOf(content: string): string {
  if (content.length <= 3 * SAMPLE_UNITS) return content;
  const middle = content.length >> 1;
  return [0, middle, content.length - SAMPLE_UNITS]
    .map((start) => content.slice(start, start + SAMPLE_UNITS))
    .join("\n");
}

function byScript(sample: string, letters: number): string | null {
  if (!BEYOND_LATIN.test(sample)) return null;
  const counts = SCRIPTS.map(({ language, script, weight }) => {
    const count = sample.match(script)?.length ?? 0;
    return { language, count, weighed: count * weight };
  }).filter(({ count }) => count > 0);
  let known = 0;
  let weighedLetters = letters;
  for (const { count, weighed } of counts) {
    known += weighed;
    weighedLetters += weighed - count;
  }
  if (known * 2 < weighedLetters) return null;

  const han = counts.find(({ language }) => language === "zh")?.count ?? 0;
  const kana = counts.find(({ language }) => language === "ja")?.count ?? 0;
  const isJapanese =
    kana > 0
      ? kana >= (kana + han) * KANA_SHARE_MIN
      : han > 0 && (sample.match(JAPANESE_FORMS)?.length ?? 0) >= han * JAPANESE_FORMS_SHARE_MIN;
  const weights = counts.map(({ language, weighed }) =>
    language === "zh" && isJapanese ? { language: "ja", weighed } : { language, weighed },
  );
  return weights.reduce((best, next) => (next.weighed > best.weighed ? next : best)).language;
}

function byNgrams(sample: string): string {
  // Versions, sums, keys and names of variables have letters, but are no words.
  const text = sample
    .split(/\s+/)
    .filter((token) => !/[\d_\\]/.test(token))
    .join(" ");
  const words = text.toLowerCase().match(/[\p{L}\p{M}'’]+/gu) ?? [];
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  if (letters < LETTERS_MIN) return UNDETERMINED;
  const found = eld.detect(text);
  const scores = found.getScores();
  const cyrillic = text.match(/\p{Script=Cyrillic}/gu)?.length ?? 0;
  if (cyrillic * 2 > letters) {
    const slavic = slavicOf(text, scores);
    return slavic === null || Math.max(...Object.values(scores)) < CYRILLIC_SCORE_MIN ? UNDETERMINED : slavic;
  }
  if (found.language === "") return UNDETERMINED;
  if (!found.isReliable() && functionShare(words, found.language) < PROSE_SHARE_MIN) return UNDETERMINED;
  if (letters <= SHORT_LETTERS) {
    const [best = 0, second = 0] = Object.values(scores).sort((a, b) => b - a);
    if (best - second < SHORT_LEAD_MIN) return UNDETERMINED;
  }
  const isEnglishClose = (scores.en ?? 0) >= (scores[found.language] ?? 0) - ENGLISH_GAP_MAX;
  const isEnglish = isEnglishClose && isEnglishAfterAll(words, found.language);
  const language = isEnglish ? "en" : neighbourOf(found.language, words);
  const codeSigns = sample.match(/[{}[\]()<>=;|&+*/\\_$#@]/g)?.length ?? 0;
  const isProse = codeSigns < CODE_SIGN_SHARE_MIN * (codeSigns + letters);
  return isProse || functionShare(words, language) >= PROSE_SHARE_MIN ? language : UNDETERMINED;
}

function isEnglishAfterAll(words: readonly string[], language: string): boolean {
  const english = functionShare(words, "en");
  return english >= ENGLISH_SHARE_MIN && english > functionShare(words, language);
}

/** Share of words that are function words of a language; 0 for one without a list. */
function functionShare(words: readonly string[], language: string): number {
  if (!hasStopWords(language)) return 0;
  const stopWords = stopWordsOf(language);
  return words.filter((word) => stopWords.has(word)).length / words.length;
}
