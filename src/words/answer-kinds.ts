// Words that show the kind of a value: months, units, currencies and such. Word list: data/words/answer-kinds.txt.

import answerKindList from "../../data/words/answer-kinds.txt" with { type: "text" };
import { parseWordList } from "./word-lists.ts";
import { anyOf } from "./word-patterns.ts";

const WORDS = parseWordList(answerKindList);

/** Returns a regular expression that finds the words of sections of answer-kinds.txt in what `spacedWords` returns. */
export function wordOfKind(...sections: readonly string[]): RegExp {
  return new RegExp(anyOf(sections.flatMap((section) => WORDS.get(section) ?? [])), "u");
}
