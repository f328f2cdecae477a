// Words that are names of columns far more often than values: "city", "Stadt", 都市. Word list:
// data/words/column-names.txt.

import columnNameList from "../../data/words/column-names.txt" with { type: "text" };
import { parseWordList } from "./word-lists.ts";
import { foldLetters, spacedWords } from "./word-patterns.ts";

/** Maximum number of characters of a name that ends with a word of the list, in scripts without spaces. */
const ENDED_CHARACTERS_MAX = 10;
/** Maximum number of words of a name. */
const WORDS_MAX = 5;

interface ColumnWords {
  readonly words: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  readonly endings: readonly string[];
}

let known: ColumnWords | null = null;

function columnWords(): ColumnWords {
  if (known !== null) return known;
  const sections = parseWordList(columnNameList);
  const folded = (section: string) => (sections.get(section) ?? []).map(foldLetters);
  known = { words: new Set(folded("word")), names: new Set(folded("name")), endings: folded("ending") };
  return known;
}

/** Whether a text has a word that is usually the name of a column, and is short enough for a name. */
export function hasColumnWord(text: string): boolean {
  const { words, names, endings } = columnWords();
  // camelCase and snake_case are several words
  const spaced = spacedWords(text.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " "))
    .trim()
    .split(" ");
  if (spaced.length > WORDS_MAX) return false;
  if (spaced.some((word) => words.has(word) || names.has(word))) return true;
  const whole = spaced.join("");
  return (
    whole.length <= ENDED_CHARACTERS_MAX && endings.some((end) => whole.endsWith(end) && whole.length > end.length)
  );
}
