// Functions for tags: the words of a text, the probability that a phrase is a topic in its language, and whether two
// phrases are duplicates. tags.ts finds and ranks the phrases.

/** A phrase, and how often and where it occurs in a text. */
export interface Phrase {
  /** The words in lower case, with spaces between them if the script is written with spaces. */
  readonly text: string;
  readonly words: readonly string[];
  /** Number of occurrences. */
  count: number;
  /** Number of occurrences where no word next to the phrase could belong to it. */
  completeCount: number;
  /** Number of occurrences with capital letters, except at the beginning of a sentence. */
  nameCount: number;
  /** Position of the first occurrence among the words of the text. */
  readonly firstPosition: number;
}

/** Scripts written without spaces. Their words are found by `Intl.Segmenter`. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/**
 * Matches words, and characters between words that end a phrase. An apostrophe or hyphen inside a word belongs to it.
 */
const WORD_OR_BREAK =
  /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’_-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*|[^\p{L}\p{N}\s]|\n\s*\n/gu;
/**
 * Parts of a text that are not words: URLs and email addresses, code fences, HTML tags and entities. The bounded
 * repetitions keep the search linear.
 */
const NOISE =
  /https?:\/\/\S{1,2000}|\bwww\.\S{1,2000}|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}|```[^\n]*|<[^<>\n]{1,200}>|&#?\w{1,10};/g;
/** An article or pronoun that French, Italian and Catalan attach to the next word. */
const ELISION =
  /(?<![\p{L}\p{M}])(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quelqu|un|dell|all|nell|sull|dall|coll|quell|quest|bell|gl)['’](?=\p{L})/giu;
const ELIDING = /^(?:fr|it|ca)(?:-|$)/;

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/**
 * The words of a text in order. A character that ends a phrase is a word of its own.
 * @param isUnspaced whether the script is written without spaces, so that the segmenter finds the words.
 */
export function wordsOf(sample: string, language: string, isUnspaced: boolean): readonly string[] {
  const text = sample.replace(NOISE, " . ");
  if (!isUnspaced) return (ELIDING.test(language) ? text.replace(ELISION, " · ") : text).match(WORD_OR_BREAK) ?? [];
  const words: string[] = [];
  for (const { segment } of wordSegmenter.segment(text)) if (segment !== " ") words.push(segment);
  return words;
}

/** Matches English adverbs and participles, except for nouns that look like them. */
const ENGLISH_NON_NOUN =
  /^(?!(?:family|assembly|anomaly|monopoly|supply|reply|italy|butterfly|ally|bully|jelly|belly|hundred|seaweed|breed|speed|embed|bleed|greed|united)$)\p{L}{3,}(?:ly|[^e]ed)$/u;
/**
 * Endings of English adjectives and gerunds, which are rarely a topic alone. Nouns such as "music" have the same
 * endings and lose a little weight.
 */
const ENGLISH_ADJECTIVE = /\p{L}{3}(?:ic|al|ive|ous|able|ible|ful|less|ing|ant|ent|ary)$/u;
const ADJECTIVE_WEIGHT = 0.6;
/**
 * Minimum number of capitalised nouns inside sentences from which a German text counts as capitalised by the rules of
 * German.
 */
const GERMAN_NOUNS_MIN = 3;

/**
 * How likely a phrase is a topic in a language, 0..1: for English by the endings of its words, for German by its
 * capital letters; always 1 for other languages.
 */
export function topicWeightOf(phrases: readonly Phrase[], language: string): (phrase: Phrase) => number {
  if (/^en(?:-|$)/.test(language)) return englishWeight;
  if (!/^de(?:-|$)/.test(language)) return () => 1;
  const names = phrases.filter(({ words, nameCount }) => words.length === 1 && nameCount > 0);
  const nouns = new Set(names.map(({ text }) => text));
  // The last word of a phrase must be a noun. The first word of the text has a capital letter in any case, so it is
  // accepted as a phrase of one word.
  return ({ words, firstPosition }) => {
    const last = words.at(-1) ?? "";
    return nouns.size < GERMAN_NOUNS_MIN || nouns.has(last) || (firstPosition === 0 && words.length === 1) ? 1 : 0;
  };
}

function englishWeight({ words, nameCount, count }: Phrase): number {
  if (nameCount * 2 >= count) return 1;
  const first = words[0] ?? "";
  const last = words.at(-1) ?? "";
  if (ENGLISH_NON_NOUN.test(last) || (words.length > 1 && /\p{L}{3}ly$/u.test(first) && ENGLISH_NON_NOUN.test(first)))
    return 0;
  return words.length === 1 && ENGLISH_ADJECTIVE.test(last) ? ADJECTIVE_WEIGHT : 1;
}

/** A phrase with its stems. */
export interface StemmedPhrase {
  readonly text: string;
  readonly stems: readonly string[];
}

/** Computes the stems of a phrase: of the parts of its words between hyphens, underscores and apostrophes. */
export function stemPhrase({ text, words }: Phrase): StemmedPhrase {
  return { text, stems: words.flatMap((word) => word.split(/[-_'’]/)).map(roughStem) };
}

/**
 * Whether two phrases are duplicates: the stems of one are among those of the other ("heat-transfer" and "heat transfer
 * rate"), they share two stems, or one is the acronym of the other.
 */
export function areDuplicates(a: StemmedPhrase, b: StemmedPhrase): boolean {
  const shared = a.stems.filter((stem) => b.stems.includes(stem)).length;
  return shared >= Math.min(a.stems.length, b.stems.length, 2) || isAcronym(a, b) || isAcronym(b, a);
}

function isAcronym({ text, stems }: StemmedPhrase, long: StemmedPhrase): boolean {
  if (stems.length !== 1 || long.stems.length < 2) return false;
  const initials = long.stems.map((stem) => stem.slice(0, 1)).join("");
  return text === initials || text === `${initials}s`;
}

/** A simplified stem that needs no stemmer: "models" and "model" have the same one. */
function roughStem(word: string): string {
  const singular = word.length > 3 ? word.replace(/(?<!s)s$/, "").replace(/(?:ie|y)$/, "i") : word;
  return singular.length > 4 ? singular.replace(/(?:e|en|n)$/, "") : singular;
}
