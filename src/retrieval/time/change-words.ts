// Words of change, such as "moved" and "no longer", and words of the present, such as "now".

import { fold } from "../../kit/fold.ts";
import { type Lexeme, languagesOf, lexemesOf, lexiconOf } from "./lexicon.ts";

/** A text and its language, BCP 47; `und` if unknown. */
export interface TextInLanguage {
  readonly text: string;
  readonly language: string;
}

/** Number of words that say that something has changed, such as "moved" and "no longer". */
export function changesIn(text: TextInLanguage): number {
  return lexemesIn(text).filter(({ meanings }) => meanings.has("change")).length;
}

/** Whether a query has a word such as "now". */
export function asksNow(query: TextInLanguage): boolean {
  return lexemesIn(query).some(({ meanings }) => meanings.has("now"));
}

function lexemesIn({ text, language }: TextInLanguage): readonly Lexeme[] {
  const plain = fold(text);
  return languagesOf(plain, language).likely.flatMap((each) => lexemesOf(plain, lexiconOf(each)));
}
