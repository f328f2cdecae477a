// Recognises what holds beyond its subject: standing instructions ("never suggest dairy") and preferences ("I prefer
// window seats") in turns of users and in notes. Offers them to queries for advice or work, which they govern whatever
// they resemble. The kind of a passage is derived from its text, so nothing is stored.

import standingList from "../../data/words/standing.txt" with { type: "text" };
import { roleOf } from "../domain/chunk.ts";
import type { Standing } from "../domain/ranking.ts";
import { parseWordList } from "../words/word-lists.ts";
import { anyOf, spacedWords } from "../words/word-patterns.ts";
import { asksForAssistant } from "./asked-role.ts";
import type { Candidate, Hydrated } from "./candidate.ts";

/** Number of candidates among which standing passages are looked for, best hybrid score first. */
export const STANDING_CANDIDATES = 100;
/** Maximum number of passages that are moved up for being standing, and nothing else. */
const OFFERED_MAX = 2;
/** Number of first results that keep their places. */
const KEPT = 3;
/** Results among which standing passages take the last places. */
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

const LISTS = parseWordList(standingList);
const BY_LANGUAGE = wordsByLanguage();
const ALL = [...BY_LANGUAGE.values()];
const SENTENCE = /[^.!?。！？؟\n]+[.!?。！？؟]*/gu;
const QUESTION_END = /[?？؟][^\p{L}\p{N}]*$/u;

/** Kinds by passage, for as long as the index keeps the passage, because each search shows and looks at many. */
const kinds = new WeakMap<Hydrated["passage"], { readonly language: string | null; readonly kind: Standing | null }>();

/** The kind of a passage that is a user's turn or a short note; null for all others. */
export function standingOfPassage(found: Hydrated): Standing | null {
  const { language } = found.memory;
  const known = kinds.get(found.passage);
  if (known !== undefined && known.language === language) return known.kind;
  const kind = recognised(found);
  kinds.set(found.passage, { language, kind });
  return kind;
}

function recognised({ memory, passage: { text, place } }: Hydrated): Standing | null {
  const { turn } = place;
  const isNote = memory.source === null && memory.state.status === "completed" && memory.state.chunkCount === 1;
  if (turn === undefined ? !isNote || text.length > NOTE_UNITS_MAX : roleOf(turn.speaker) !== "user") return null;
  return standingOf(text.slice(turn?.labelUnits ?? 0), memory.language ?? "und");
}

/** Whether standing passages are offered: to queries for advice or work that show enough results. */
export function offersStanding({ text, language, limit }: OfferedQuery): boolean {
  return limit > KEPT && asksForWork(text, language) && !asksForAssistant(text, language);
}

/** A query, and the number of results that it shows. */
export interface OfferedQuery {
  readonly text: string;
  /** BCP 47; `und` if unsure. */
  readonly language: string;
  readonly limit: number;
}

/**
 * Moves the best two standing passages that would not be among the first ten results to the last places of these. They
 * get the score of the passage whose place they take, so that the scores of the others stay.
 * @param candidates in their final order
 */
export function offerStanding(
  query: OfferedQuery,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
): readonly Candidate[] {
  const shown = Math.min(OFFERED_AMONG, query.limit);
  if (candidates.length <= shown || !offersStanding(query)) return candidates;
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
 * The kind of a text that states what holds beyond its subject, else null. Questions in it do not count.
 * @param language BCP 47; `und` if unsure
 */
export function standingOf(text: string, language: string): Standing | null {
  const sentences = text.match(SENTENCE) ?? [];
  const words = wordsOf(language);
  const has = (kind: "begins" | "instruction" | "preference", among: readonly string[]) =>
    among.some((sentence) => words.some((each) => each[kind].test(spacedWords(sentence).replace(each.not, " "))));
  const statements = sentences.filter((sentence) => !QUESTION_END.test(sentence));
  if (has("begins", statements) || has("instruction", statements)) return "instruction";
  return has("preference", sentences) ? "preference" : null;
}

/** Whether a query asks for advice, a recommendation or a piece of work. */
export function asksForWork(query: string, language: string): boolean {
  const text = spacedWords(query);
  return wordsOf(language).some(({ work }) => work.test(text));
}

function wordsOf(language: string): readonly StandingWords[] {
  if (language === "und") return ALL;
  const words = BY_LANGUAGE.get(language.split("-")[0] ?? "");
  return words === undefined ? [] : [words];
}

function wordsByLanguage(): ReadonlyMap<string, StandingWords> {
  const languages = new Set([...LISTS.keys()].map((section) => section.split(" ")[0] ?? ""));
  return new Map(
    [...languages].map((language) => {
      const words = (kind: string) => anyOf(LISTS.get(`${language} ${kind}`) ?? []);
      return [
        language,
        {
          not: new RegExp(words("not"), "gu"),
          begins: new RegExp(`^ ${words("begins")}`, "u"),
          instruction: new RegExp(words("instruction"), "u"),
          preference: new RegExp(words("preference"), "u"),
          work: new RegExp(words("work"), "u"),
        },
      ];
    }),
  );
}
