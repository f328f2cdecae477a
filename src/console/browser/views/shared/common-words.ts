// Words such as "the" and "with", which say nothing about a text, because nearly every text has them.

import functionWords from "../../../../../data/words/entities/function-words.txt" with { type: "text" };

/** Lines of the list that begin with `#` or `[` contain no words. */
const common = new Set(
  functionWords
    .split("\n")
    .filter((line) => !/^[#[]/.test(line))
    .flatMap((line) => line.split(" ")),
);

/** Whether a word is one of them. The list has them in lower case, without diacritics. */
export function isCommonWord(word: string): boolean {
  return common.has(word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, ""));
}
