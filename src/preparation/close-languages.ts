// Which of several close languages a text is in, where n-grams of a few words mistake them: by letters that only some of them
// write, and by common words that each spells in its own way.

/** Share of letters outside its alphabet that a language bears: a name or two of a neighbour's. */
const FOREIGN_SHARE_MAX = 0.01;
/** By how much its n-grams must lead for a language of which the text has no sign (sentences of test/preparation/fixtures). */
const LEAD_WITHOUT_SIGN_MIN = 0.02;

interface Alphabet {
  readonly language: string;
  /** Of which nearly every sentence has one: letters, or words and endings; null where it has nothing of its own. */
  readonly sign: RegExp | null;
  /** Letters that it never writes. */
  readonly foreign: RegExp;
}

/**
 * The Slavic alphabets in Cyrillic. Any other (Kazakh, Tajik, Mongolian) has letters that are foreign to all of them, and
 * its language is none that the n-grams know.
 */
const ALPHABETS: readonly Alphabet[] = [
  { language: "ru", sign: null, foreign: /[^а-яё ]/g },
  { language: "uk", sign: /[іїєґ]/, foreign: /[^а-яіїєґ ]|[ыэъ]/g },
  { language: "be", sign: /[ўі]/, foreign: /[^а-яёіў ]|[ищъ]/g },
  {
    language: "bg",
    sign: /ъ| (?:е|са|ще|се|че|ли|си|му|ме|ѝ) |[а-я]{3}(?:ата|ята|ото|ият) /,
    foreign: /[^а-яѝ ]|[ыэ]|ь(?!о)/g,
  },
  { language: "sr", sign: /[јљњћђџ]/, foreign: /[^а-яјљњћђџ ]|[йщъыьэюя]/g },
  { language: "mk", sign: /[ѓќѕ]/, foreign: /[^а-яјљњџѓќѕѐѝ ]|[йщъыьэюя]/g },
];

/**
 * The Slavic language of a text in Cyrillic letters: the one with the best score among those whose alphabet it keeps to;
 * null when it keeps to none.
 * @param scores of n-grams by language, 0..1.
 */
export function slavicOf(text: string, scores: Readonly<Record<string, number>>): string | null {
  const letters = ` ${(text.toLowerCase().match(/\p{Script=Cyrillic}+/gu) ?? []).join(" ")} `;
  const scoreOf = ({ language, sign }: Alphabet) =>
    (scores[language] ?? 0) - (sign === null || sign.test(letters) ? 0 : LEAD_WITHOUT_SIGN_MIN);
  const [best] = ALPHABETS.filter(
    ({ foreign }) => (letters.match(foreign)?.length ?? 0) <= letters.length * FOREIGN_SHARE_MAX,
  ).sort((a, b) => scoreOf(b) - scoreOf(a));
  return best?.language ?? null;
}

/** A language with common words that its neighbour has not, or spells otherwise. */
type Spelling = readonly [language: string, words: ReadonlySet<string>];

const spelling = (language: string, words: string): Spelling => [language, new Set(words.split(" "))];
const DANISH = spelling(
  "da",
  "af efter ud op nu noget nogle nogen mig dig sig hvad uden bliver blev hende jer igen kun lige",
);
const NORWEGIAN = spelling(
  "no",
  "av etter ut opp nå noe noen meg deg seg hva uten blir ble henne dere igjen bare å ikkje eg",
);

/** By what the n-grams say: both languages that it may be; the first is right where the words say nothing. */
const NEIGHBOURS: Readonly<Record<string, readonly [Spelling, Spelling]>> = {
  da: [DANISH, NORWEGIAN],
  no: [NORWEGIAN, DANISH],
  // The n-grams know Malay alone, of which Indonesian is the variety with about ten times as many writers.
  ms: [
    spelling("id", "karena bahwa bisa sedangkan mobil uang kantor kalian gue nggak berbeda beda rumit saat"),
    spelling("ms", "kerana bahawa boleh awak pejabat wang cakap beritahu berbeza beza ialah manakala pelbagai ketika"),
  ],
};

/**
 * The language that the words of a text speak for, where n-grams found one that they take for its neighbour.
 * @param words in lower case.
 */
export function neighbourOf(found: string, words: readonly string[]): string {
  const neighbours = NEIGHBOURS[found];
  if (neighbours === undefined) return found;
  const [first, second] = neighbours.map(([, own]) => words.filter((word) => own.has(word)).length);
  return neighbours[(second ?? 0) > (first ?? 0) ? 1 : 0][0];
}
