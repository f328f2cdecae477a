// What does a question ask for, and how much of it does a sentence have? Its words in their forms, and the kind of
// thing that would answer it, in the languages of the largest shares of the web: others get no bonus, and lose nothing
// else.

/** What is asked, as sentences are compared with it. */
export interface Asked {
  readonly folded: string;
  readonly terms: ReadonlySet<string>;
  /** The same terms by their first `STEM_UNITS_MIN` units. */
  readonly termsByStem: ReadonlyMap<string, readonly string[]>;
  readonly asksWhen: boolean;
  /** How what is asked for looks; empty: that cannot be told. */
  readonly looks: readonly RegExp[];
}

/** Words that share this much of their beginning may be forms of one word: paint, painted, painting. */
const STEM_UNITS_MIN = 4;
/** Share of the longer word that both must have in common for it. */
const STEM_SHARE_MIN = 0.57;
/** What another form of a word counts. */
const STEM_MATCH = 0.7;

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** The first letters of months where a day stands before them: in the languages of `WHEN_ASKED`. */
const MONTHS = `jan gen ene янв feb fév фев mar mär мар apr abr avr апр ma[gijy] ма[йя] jun juin giu июн jul juil lug июл
  aug ago août авг sep set сен o[ck]t out ott окт nov ноя de[cz] déc dic дек`;

const NUMBER = /\p{N}+|[〇一二三四五六七八九十百千万億亿兆]+[年月日号號時时点點歳岁回次]/gu;
const DATES: readonly RegExp[] = [
  /\p{N}{4}|\p{N}{1,2}[:./-]\p{N}{1,2}|[\p{N}〇一二三四五六七八九十]+\s?[年月日号號時时点點년월일시]/gu,
  new RegExp(`\\p{N}{1,2}(?:st|nd|rd|th|\\.|º)?\\s(?:of\\s|de\\s)?(?:${MONTHS.split(/\s+/).join("|")})`, "giu"),
  /\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b/g,
];
/** The first word of a sentence has its capital letter for another reason. */
const NAME = /(?<=[\p{L}\p{N},)] )\p{Lu}[\p{L}\p{M}]+/gu;

const WHEN_ASKED = askedPattern(
  `when (?:what|which)\\s(?:year|date|day|month|time)
   wann quand cuándo quando wanneer kiedy когда متى कब 언제 ne\\szaman kapan`,
  "什么时候|什麼時候|何时|何時|几时|いつ|何[年月日時]|เมื่อไหร่|เมื่อไร",
);
const HOW_MANY_ASKED = askedPattern(
  `how\\s(?:many|much|long|old|often|far|tall|big|large|high) (?:what|which)\\s(?:age|number|amount|percentage)
   wie\\s(?:viel|viele|lange|alt|oft|weit|hoch|groß) combien cuánt[oa]s? quant[oaie]s?
   hoeveel ile сколько كم कितने कितना 얼마 kaç berapa`,
  "多少|多久|几[个年月岁天次]|いくつ|いくら|何[人回歳個本枚]|몇|เท่าไหร่|เท่าไร|กี่",
);
/** Who, where: where names begin with a capital letter. */
const NAME_ASKED = askedPattern(
  `who whom whose where
   (?:what|which)\\s(?:city|country|state|town|place|person|name|company|band|team|club|school|university)
   (?:what|which)\\s(?:nationality|language|actor|actress|director|author|singer)
   wer wem wen wessen wo woher wohin qui où quién quiénes dónde quem onde chi dove waar kto gdzie
   кто кого где куда откуда kim nerede siapa`,
  "(?!)",
);

// Words of spaced scripts stand alone; the others are found anywhere.
function askedPattern(spaced: string, unspaced: string): RegExp {
  return new RegExp(
    `(?<![\\p{L}\\p{M}])(?:${spaced.trim().split(/\s+/).join("|")})(?![\\p{L}\\p{M}])|${unspaced}`,
    "iu",
  );
}

/** Reads a question; linear. */
export function askedOf(question: string): Asked {
  const terms = new Set(foldedWords(question));
  const termsByStem = Map.groupBy(
    [...terms].filter((term) => term.length >= STEM_UNITS_MIN),
    (term) => term.slice(0, STEM_UNITS_MIN),
  );
  const folded = fold(question);
  const asksWhen = WHEN_ASKED.test(folded);
  const looks = [
    ...(asksWhen ? DATES : []),
    ...(HOW_MANY_ASKED.test(folded) ? [NUMBER] : []),
    ...(NAME_ASKED.test(folded) ? [NAME] : []),
  ];
  return { folded, terms, termsByStem, asksWhen, looks };
}

/** Whether a sentence has what looks like that which is asked for, and the question does not have it already. */
export function bringsAsked(sentence: string, { looks, folded }: Asked): boolean {
  return looks.some((look) => (sentence.match(look) ?? []).some((found) => !folded.includes(fold(found))));
}

/** How well words match each term of a question, 0..1; terms that they do not have are absent. */
export function matchesOf(words: ReadonlySet<string>, { terms, termsByStem }: Asked): ReadonlyMap<string, number> {
  const matches = new Map<string, number>();
  for (const word of words) {
    if (terms.has(word)) {
      matches.set(word, 1);
      continue;
    }
    for (const term of termsByStem.get(word.slice(0, STEM_UNITS_MIN)) ?? []) {
      if (!matches.has(term) && areForms(word, term)) matches.set(term, STEM_MATCH);
    }
  }
  return matches;
}

/** The words of a text, folded, in their order; in scripts without spaces too. */
export function foldedWords(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of wordSegmenter.segment(fold(text))) if (isWordLike) words.push(segment);
  return words;
}

/** A text as it is compared: whatever its case and its spelling in Unicode. */
export function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function areForms(left: string, right: string): boolean {
  const longer = Math.max(left.length, right.length);
  let same = STEM_UNITS_MIN;
  while (same < longer && left[same] === right[same]) same++;
  return same >= STEM_SHARE_MIN * longer;
}
