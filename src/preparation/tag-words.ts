// What tags are made of: the words of a text, which phrases cannot be a topic in their language, and which of two say the
// same. How phrases are found and ranked is the business of tags.ts.

/** A phrase with what the text tells of it. */
export interface Phrase {
  /** Its words in lower case, with spaces where the script has them. */
  readonly text: string;
  readonly words: readonly string[];
  count: number;
  /** How many times nothing stood beside it that could belong to it. */
  whole: number;
  /** How many times it stood with capitals, apart from the beginnings of sentences. */
  named: number;
  /** Position of its first word among the text's words. */
  readonly first: number;
}

/** Scripts written without spaces: words come from the segmenter. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Words, and between them what ends a phrase. An apostrophe or hyphen inside belongs to the word. */
const WORD_OR_BREAK =
  /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’_-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*|[^\p{L}\p{N}\s]|\n\s*\n/gu;
/** What is no word: addresses, fences, tags and entities. The bounds keep the search linear. */
const NOISE =
  /https?:\/\/\S{1,2000}|\bwww\.\S{1,2000}|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}|```[^\n]*|<[^<>\n]{1,200}>|&#?\w{1,10};/g;
/** An article or pronoun that French, Italian or Catalan writes together with the next word. */
const ELISION =
  /(?<![\p{L}\p{M}])(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quelqu|un|dell|all|nell|sull|dall|coll|quell|quest|bell|gl)['’](?=\p{L})/giu;
const ELIDING = /^(?:fr|it|ca)(?:-|$)/;

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/**
 * The words of a text in order, and whatever ends a phrase between them as a word of its own.
 * @param isUnspaced whether its words come from the segmenter.
 */
export function wordsOf(sample: string, language: string, isUnspaced: boolean): readonly string[] {
  const text = sample.replace(NOISE, " . ");
  if (!isUnspaced) return (ELIDING.test(language) ? text.replace(ELISION, " · ") : text).match(WORD_OR_BREAK) ?? [];
  const words: string[] = [];
  for (const { segment } of wordSegmenter.segment(text)) if (segment !== " ") words.push(segment);
  return words;
}

/** English adverbs and participles, apart from nouns that look like them. */
const ENGLISH_NO_NOUN =
  /^(?!(?:family|assembly|anomaly|monopoly|supply|reply|italy|butterfly|ally|bully|jelly|belly|hundred|seaweed|breed|speed|embed|bleed|greed|united)$)\p{L}{3,}(?:ly|[^e]ed)$/u;
/** Endings of English adjectives and gerunds, which seldom are a topic alone; nouns such as "music" lose a little by it. */
const ENGLISH_ADJECTIVE = /\p{L}{3}(?:ic|al|ive|ous|able|ible|ful|less|ing|ant|ent|ary)$/u;
const ADJECTIVE_WEIGHT = 0.6;
/** Capitals within sentences from which a German text is taken to keep to its spelling. */
const GERMAN_NOUNS_MIN = 3;

/** How much a phrase can be a topic in a language, 0..1: in English by its endings, in German by its capitals, else 1. */
export function topicWeightOf(phrases: readonly Phrase[], language: string): (phrase: Phrase) => number {
  if (/^en(?:-|$)/.test(language)) return englishWeight;
  if (!/^de(?:-|$)/.test(language)) return () => 1;
  const nouns = new Set(phrases.filter(({ words, named }) => words.length === 1 && named > 0).map(({ text }) => text));
  // The first word of a sentence may be a noun; its last one, in a phrase, has to be.
  return ({ words, first }) => {
    const last = words.at(-1) ?? "";
    return nouns.size < GERMAN_NOUNS_MIN || nouns.has(last) || (first === 0 && words.length === 1) ? 1 : 0;
  };
}

function englishWeight({ words, named, count }: Phrase): number {
  if (named * 2 >= count) return 1;
  const first = words[0] ?? "";
  const last = words.at(-1) ?? "";
  if (ENGLISH_NO_NOUN.test(last) || (words.length > 1 && /\p{L}{3}ly$/u.test(first) && ENGLISH_NO_NOUN.test(first)))
    return 0;
  return words.length === 1 && ENGLISH_ADJECTIVE.test(last) ? ADJECTIVE_WEIGHT : 1;
}

/** What a phrase says: its text, and the stems of its words and of their parts between hyphens. */
export interface Said {
  readonly text: string;
  readonly stems: readonly string[];
}

/** What a phrase says. */
export function saidBy({ text, words }: Phrase): Said {
  return { text, stems: words.flatMap((word) => word.split(/[-_'’]/)).map(roughStem) };
}

/**
 * Whether two phrases say the same: one is within the other by its stems ("heat-transfer" and "heat transfer rate"), they
 * share two words, or one is made of the other's initials.
 */
export function saySame(a: Said, b: Said): boolean {
  const shared = a.stems.filter((stem) => b.stems.includes(stem)).length;
  return shared >= Math.min(a.stems.length, b.stems.length, 2) || isAcronym(a, b) || isAcronym(b, a);
}

function isAcronym({ text, stems }: Said, long: Said): boolean {
  if (stems.length !== 1 || long.stems.length < 2) return false;
  const initials = long.stems.map((stem) => stem.slice(0, 1)).join("");
  return text === initials || text === `${initials}s`;
}

/** Enough to see that "models" and "model" are one; no stemmer. */
function roughStem(word: string): string {
  const singular = word.length > 3 ? word.replace(/(?<!s)s$/, "").replace(/(?:ie|y)$/, "i") : word;
  return singular.length > 4 ? singular.replace(/(?:e|en|n)$/, "") : singular;
}
