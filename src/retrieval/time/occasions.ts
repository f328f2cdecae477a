// Recognises exceptions to weekly events: "This Monday Pilates is at the school" is about one occasion, so it does not
// replace "Pilates is on Mondays".

import { fold } from "../../kit/fold.ts";
import type { TextInLanguage } from "./change-words.ts";
import { type Lexeme, languagesOf, lexemesOf, lexiconOf } from "./lexicon.ts";

const WEEKDAY = /^weekday\d/;
/** "Last Monday", "this Monday", and the week in languages that name it: 今週の月曜日. */
const ONE_OF_MANY: ReadonlySet<string> = new Set(["last", "this", "next", "week-1", "week+0", "week+1"]);

/** Whether the newer text is about one occasion of a weekday that the older one names without saying which one. */
export function isExceptionOf(older: TextInLanguage, newer: TextInLanguage): boolean {
  const occasions = weekdaysIn(newer).occasions;
  if (occasions.size === 0) return false;
  const before = weekdaysIn(older);
  return [...occasions].some((day) => before.all.has(day) && !before.occasions.has(day));
}

function weekdaysIn({ text, language }: TextInLanguage) {
  const plain = fold(text);
  const all = new Set<string>();
  const occasions = new Set<string>();
  for (const each of languagesOf(plain, language).likely) {
    const lexemes = lexemesOf(plain, lexiconOf(each));
    for (const [at, { meanings }] of lexemes.entries()) {
      for (const day of [...meanings].filter((meaning) => WEEKDAY.test(meaning))) {
        all.add(day);
        if (isOneOfMany(lexemes[at - 1]) || isOneOfMany(lexemes[at + 1]) || isOneOfMany(ofWeek(lexemes, at))) {
          occasions.add(day);
        }
      }
    }
  }
  return { all, occasions };
}

/** The lexeme two places before a weekday, if の or 的 is between: 今週 in 今週の月曜日. Otherwise undefined. */
function ofWeek(lexemes: readonly Lexeme[], at: number): Lexeme | undefined {
  const [between, before] = [lexemes[at - 1], lexemes[at - 2]];
  return between !== undefined && /^[の的]$/u.test(between.text) ? before : undefined;
}

function isOneOfMany(lexeme: Lexeme | undefined): boolean {
  return lexeme !== undefined && [...lexeme.meanings].some((meaning) => ONE_OF_MANY.has(meaning));
}
