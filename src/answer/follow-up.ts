// Detects follow-up questions, which cannot be understood without the conversation, by their words. Knows English,
// German, French, Spanish, Russian, Chinese and Japanese; in other languages it recognises few of them.
// contextual-question.ts adds the missing topics.

import { stopWordsOf } from "../words/stop-words.ts";

/** Maximum length of a follow-up question, in UTF-16 code units. */
const QUESTION_UNITS_MAX = 160;
/** A question with at least this many topic words is self-contained, even if it begins with "and" or contains "it". */
const OWN_TOPICS_MIN = 3;
/** Maximum characters of a Chinese or Japanese follow-up that begins with "and". */
const SHORT_CHARACTERS_MAX = 12;

/** A word of a question or an answer. */
export interface Word {
  readonly text: string;
  readonly lower: string;
  readonly index: number;
  /** Whether the word can be a topic. Function words and numbers cannot. */
  readonly isTopic: boolean;
  /** Whether the word is capitalised although it does not begin a sentence. */
  readonly isName: boolean;
}

const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]/u;
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const ELISION = /^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['’](?=\p{L})/iu;
/**
 * Kind of a follow-up question: it has a pronoun, or it leaves words out (ellipsis). null for a question that is not a
 * follow-up.
 */
export type FollowUpKind = "pronoun" | "ellipsis" | null;

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Detects the follow-up kind of a question. */
export function followUpKind(question: string): FollowUpKind {
  const text = question.trim();
  if (text.length > QUESTION_UNITS_MAX) return null;
  if (!UNSPACED.test(text)) return followUpKindWithSpaces(text);
  const bare = text.replace(/[\s\p{P}\p{S}]/gu, "");
  return KANA.test(bare) ? japaneseFollowUpKind(bare) : chineseFollowUpKind(bare);
}

/** Whether a question contains a name: a capitalised word without an article. */
export function hasName(words: readonly Word[]): boolean {
  return words.some(({ isName }, at) => isName && !ARTICLES.has(words[at - 1]?.lower ?? ""));
}

/** The words of a text, in order. */
export function wordsOf(text: string): readonly Word[] {
  const words: Word[] = [];
  let startsSentence = true;
  for (const { segment, index, isWordLike } of segmenter.segment(text)) {
    if (!isWordLike) {
      if (/[.!?。！？:\n]/u.test(segment)) startsSentence = true;
      continue;
    }
    const bare = segment.replace(ELISION, "").replace(/['’]s$/iu, "");
    const lower = bare.toLowerCase();
    const isTopic = /\p{L}/u.test(bare) && !isFunctionWord(lower) && !isTooShort(bare);
    words.push({ text: bare, lower, index, isTopic, isName: isTopic && /^\p{Lu}/u.test(bare) && !startsSentence });
    startsSentence = false;
  }
  return words;
}

// ---- scripts with spaces

/**
 * Words that are never topics, in addition to the stop words: function words, words that ask for more, and names of
 * months.
 */
const FUNCTION_WORDS =
  words(`exactly precisely genau exactement exactamente esattamente exatamente именно точно else again tell
  explain describe summarise summarize list show mean happened happens please erzähl erzähle erkläre bitte passiert s'il plaît dime explique
  expliquer explica cuéntame расскажи объясни подробнее details detail mehr dónde cuándo cómo quién quiénes cuál cuáles cuánto cuánta
  cuántos cuántas combien january february march april june july august september october november december januar februar märz mai juni juli
  oktober dezember janvier février avril juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio
  agosto septiembre octubre noviembre diciembre январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре году`);

/** Words that are always pronouns. */
const PRONOUNS =
  words(`he she him her hers his they them their theirs er sie ihn ihm ihr ihre ihren ihrem ihrer sein seine seinen seinem
  seiner ihnen dessen deren elle elles lui leur leurs son sa ses él ella ellos ellas su sus suyo suya lei loro suo sua ela eles elas dele dela
  seu он она оно они его её ее ему ей им ими них него неё нее ним ней`);
/** Words that may be pronouns, but may also refer to an earlier word of the question. */
const WEAK_PRONOUNS =
  words(`it its this that these those there then es dieses diese dieser das dort dann damit davon darüber daran dazu
  il ils ça cela ce cette ces eso esto ese esa esos esas aquello allí ahí isso isto esse essa этот эта эти этого этом это там тогда`);
/** Words of time. A phrase such as "this year" refers to no topic. */
const TIMES =
  words(`year month week weekend morning afternoon evening night quarter season time summer winter jahr monat woche jahres
  année mois semaine soir año mes semana год году месяц неделе`);
const ARTICLES = words(
  "the a an der die das den dem des ein eine einen einem einer le la les un une l el los las una unos unas lo il gli",
);

const AND = /^\P{L}*(?:and|or|but|und|oder|aber|et|ou|mais|y(?! a-t-)|e|pero|ma|а|и|или|но)(?![\p{L}\p{M}'’])/iu;
const WHAT_ABOUT =
  /^\P{L}*(?:(?:and |but )?(?:what|how) about|was ist mit|(?:und )?wie (?:ist|sieht|steht) es (?:mit|bei)|(?:et )?qu['’]en est-il d|et pour|(?:y )?qué (?:tal|hay|pasa) (?:de|con)|(?:y )?qué pasó con|(?:а )?что (?:насч[её]т|с|со)|как насч[её]т|а как же)(?![\p{L}\p{M}])/iu;
/** Question words of languages whose verbs need no subject, as in "¿Cuándo nació?" ("When was he born?"). */
const ASKS_WITHOUT_SUBJECT =
  /^\P{L}*(?:dónde|cuándo|cómo|por qué|cuánt[oa]s?|где|когда|почему|зачем|сколько|куда|откуда)(?![\p{L}\p{M}])/iu;
/** Phrases with an "it" or "there" that refers to nothing. */
const DUMMY_PRONOUN =
  /(?<![\p{L}])(?:is it (?:true|possible|raining|snowing)|what time is it|is there|are there|was there|were there|il y a|y a-t-il|s['’]il|faut-il|est-il (?:possible|vrai)|gibt es|gab es|geht es (?:um|in)|handelt es sich|es gibt)(?![\p{L}])/iu;

function followUpKindWithSpaces(text: string): FollowUpKind {
  const found = wordsOf(text);
  const topics = found.filter(({ isTopic }) => isTopic);
  const hasDummyPronoun = DUMMY_PRONOUN.test(text);
  const refers = found.some((word, at) => {
    const before = topics.filter((topic) => topic.index < word.index);
    if (isVerb(found, at)) return false;
    if (PRONOUNS.has(word.lower)) {
      return !isPolite(word, at) && before.length < OWN_TOPICS_MIN - 1 && !before.some(({ isName }) => isName);
    }
    if (!WEAK_PRONOUNS.has(word.lower) || hasDummyPronoun || TIMES.has(found[at + 1]?.lower ?? "")) return false;
    if (topics.some(({ isName }) => isName)) return false;
    return topics.length <= (before.length === 0 ? OWN_TOPICS_MIN : 1);
  });
  if (refers) return "pronoun";
  const isShort =
    topics.length === 0 ||
    (WHAT_ABOUT.test(text) && topics.length <= OWN_TOPICS_MIN) ||
    (AND.test(text) && topics.length < OWN_TOPICS_MIN) ||
    (ASKS_WITHOUT_SUBJECT.test(text) && topics.length === 1 && !topics.some(({ isName }) => isName));
  return isShort ? "ellipsis" : null;
}

// A capitalised German "Sie" within a sentence addresses the reader and refers to no topic.
function isPolite({ text }: Word, at: number): boolean {
  return at > 0 && /^(?:Sie|Ihr|Ihnen|Ihre[nmr]?)$/.test(text);
}

// Spanish "es" and "son" behind a question word are verbs, as in "¿Qué es …?" and "¿Cuáles son …?".
function isVerb(found: readonly Word[], at: number): boolean {
  const before = found[at - 1]?.lower ?? "";
  return (
    /^(?:es|son)$/.test(found[at]?.lower ?? "") &&
    /^(?:qué|quién(?:es)?|cuál(?:es)?|cómo|dónde|cuándo|cuántos|que)$/.test(before)
  );
}

// ---- scripts without spaces

const CHINESE_PRONOUN = /[他她它]们?|这[个些里样]|那[个些里样]|此|该|其(?![他它中实余])|^这/u;
const CHINESE_AND = /^(?:那么?|还有|另外|然后|以及|而且)|呢$/u;
const CHINESE_GRAMMAR =
  /为什么|为何|什么时候|什么|何时|哪里|哪儿|在哪|哪[个些年天]?|谁|怎么样?|如何|多少|几|是否|是不是|有没有|请问|请|告诉我|详细|说明|[的了吗呢吧啊在是有和与就也都还被把给从到对为么去过着要会能可以我你您]|\p{N}+[年月日]?/gu;
const JAPANESE_PRONOUN = /彼女?|それ|その|これ|この|あれ|あの|そこ|そちら|あそこ|前述|同じ/u;
const JAPANESE_AND = /^(?:では|じゃあ?|それでは|それなら|そして|でも|あと|また)|(?<!と)は$/u;
const JAPANESE_GRAMMAR = /\p{Script=Hiragana}+|何[年月日時人回歳個]?|誰|幾つ|教|\p{N}+[年月日]?/gu;

function chineseFollowUpKind(text: string): FollowUpKind {
  const own = (part: string) => part.replace(CHINESE_GRAMMAR, "").length;
  const pronoun = CHINESE_PRONOUN.exec(text);
  if (pronoun !== null && own(text.slice(0, pronoun.index)) < 2) return "pronoun";
  const isShort = own(text) <= 1 || (CHINESE_AND.test(text) && text.length <= SHORT_CHARACTERS_MAX);
  return isShort ? "ellipsis" : null;
}

function japaneseFollowUpKind(text: string): FollowUpKind {
  const own = (part: string) => part.replace(JAPANESE_GRAMMAR, "").length;
  const pronoun = JAPANESE_PRONOUN.exec(text);
  if (pronoun !== null && own(text.slice(0, pronoun.index)) < 2) return "pronoun";
  const isShort =
    (JAPANESE_AND.test(text) && !text.includes("の") && text.length <= SHORT_CHARACTERS_MAX) ||
    (own(text) <= 2 && !/[がのを]|は./u.test(text));
  return isShort ? "ellipsis" : null;
}

function isFunctionWord(lower: string): boolean {
  return stopWordsOf("und").has(lower) || FUNCTION_WORDS.has(lower) || WEAK_PRONOUNS.has(lower) || PRONOUNS.has(lower);
}

// Single characters, Hiragana only, and Chinese question words cannot be topics.
function isTooShort(word: string): boolean {
  return /^(?:.|\p{Script=Hiragana}+)$/su.test(word) || /^\p{Script=Han}*[哪什谁何誰几]/u.test(word);
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}
