// Recognises turns of users and notes that apply to later requests, whatever these are about: standing instructions
// ("never suggest dairy") and preferences ("I prefer window seats"). Adds them to the results of queries for advice or
// work, even if they do not resemble the query. The kind of a passage is derived from its text, so nothing is stored.

import standingList from "../../data/words/standing.txt" with { type: "text" };
import { roleOf } from "../domain/chunk.ts";
import type { Standing } from "../domain/ranking.ts";
import { isQuestion, spokenSentences } from "../words/spoken-sentences.ts";
import { byLanguage } from "../words/word-lists.ts";
import { anyOf, spacedWords } from "../words/word-patterns.ts";
import { asksForAssistant } from "./asked-role.ts";
import type { Candidate, Hydrated } from "./candidate.ts";

/** Number of candidates among which standing passages are looked for, best hybrid score first. */
export const STANDING_CANDIDATES = 100;
/** Maximum number of passages that are moved up only because they are standing instructions or preferences. */
const OFFERED_MAX = 2;
/** Number of first results that keep their places. */
const KEPT = 3;
/** Number of first results. Standing passages are moved to the last places among them. */
const OFFERED_AMONG = 10;
/** Maximum length of a note that counts, in UTF-16 code units. */
const NOTE_UNITS_MAX = 1000;

/** The patterns of a language; data/words/standing.txt explains them. */
interface StandingWords {
  readonly not: RegExp;
  readonly begins: RegExp;
  readonly instruction: RegExp;
  readonly preference: RegExp;
  readonly work: RegExp;
}

const BY_LANGUAGE = byLanguage(standingList, (wordsOf): StandingWords => {
  const words = (kind: string) => anyOf(wordsOf(kind));
  return {
    not: new RegExp(words("not"), "gu"),
    begins: new RegExp(`^ ${words("begins")}`, "u"),
    instruction: new RegExp(words("instruction"), "u"),
    preference: new RegExp(words("preference"), "u"),
    work: new RegExp(words("work"), "u"),
  };
});
const ALL = [...BY_LANGUAGE.values()];

/**
 * Cache of the kinds of passages, because searches look at the same passages again. An entry lives as long as the index
 * keeps the passage.
 */
const kinds = new WeakMap<Hydrated["passage"], { readonly language: string; readonly kind: Standing | null }>();

/** The kind of a passage that is a user's turn or a short note; null for all others. */
export function standingOfPassage({ memory, passage }: Hydrated): Standing | null {
  const { text, place } = passage;
  const { turn } = place;
  const isNote = memory.source === null && memory.state.status === "completed" && memory.state.chunkCount === 1;
  if (turn === undefined ? !isNote || text.length > NOTE_UNITS_MAX : roleOf(turn.speaker) !== "user") return null;
  const language = memory.language ?? "und";
  const known = kinds.get(passage);
  if (known?.language === language) return known.kind;
  const kind = standingOf(text.slice(turn?.labelUnits ?? 0), language);
  kinds.set(passage, { language, kind });
  return kind;
}

/**
 * Whether standing passages are added to the results of a query: it asks for advice or work, and shows enough results.
 * @param language of the query, BCP 47; `und` if unsure
 * @param limit number of results that are shown
 */
export function offersStanding(query: string, language: string, limit: number): boolean {
  return limit > KEPT && asksForWork(query, language) && !asksForAssistant(query, language);
}

/**
 * Moves the best two standing passages that would not be among the first ten results to the last places of these. They
 * get the score of the passage whose place they take, so that the scores of the others stay.
 * @param candidates in their final order
 * @param limit number of results that are shown, more than the first three
 */
export function offerStanding(
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
  limit: number,
): readonly Candidate[] {
  const shown = Math.min(OFFERED_AMONG, limit);
  if (candidates.length <= shown) return candidates;
  const isStanding = ({ chunkKey }: Candidate) => {
    const found = hydrated.get(chunkKey);
    return found !== undefined && standingOfPassage(found) !== null;
  };
  const offered = candidates
    .values()
    .drop(shown)
    .filter(isStanding)
    .take(Math.min(OFFERED_MAX, shown - KEPT))
    .toArray();
  const kept = shown - offered.length;
  const finalScore = candidates[kept]?.finalScore ?? 0;
  const others = candidates.slice(kept).filter((candidate) => !offered.includes(candidate));
  return [...candidates.slice(0, kept), ...offered.map((candidate) => ({ ...candidate, finalScore })), ...others];
}

/**
 * The kind of a text with a standing instruction or a preference, else null. Instructions in questions do not count.
 * @param language BCP 47; `und` if unsure
 */
export function standingOf(text: string, language: string): Standing | null {
  const sentences = spokenSentences(text).map((sentence) => ({
    isStatement: !isQuestion(sentence),
    words: spacedWords(sentence),
  }));
  let isPreference = false;
  for (const { not, begins, instruction, preference } of wordsOf(language)) {
    for (const { isStatement, words } of sentences) {
      const rest = words.replace(not, " ");
      if (isStatement && (begins.test(rest) || instruction.test(rest))) return "instruction";
      isPreference ||= preference.test(rest);
    }
  }
  return isPreference ? "preference" : null;
}

/** Whether a query asks for advice, a recommendation or a piece of work. */
export function asksForWork(query: string, language: string): boolean {
  const text = spacedWords(query);
  return wordsOf(language).some(({ work }) => work.test(text));
}

function wordsOf(language: string): readonly StandingWords[] {
  const words = BY_LANGUAGE.get(language.split("-")[0] ?? "");
  return words === undefined ? ALL : [words];
}
