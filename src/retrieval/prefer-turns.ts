// Prefers the turns of conversations that are likely to hold an answer: those of the speaker whom the query names,
// statements rather than questions, and replies to a question that resembles the query. With an assistant it is the
// user who states facts, mostly before a request, and the assistant's replies repeat them at length: there, the user's
// turns are preferred, unless the query asks what the assistant said. Reads hydrated candidates, before the reranker.
// Other passages keep their scores.

import { roleOf, type Turn } from "../domain/chunk.ts";
import { isQuestion, spokenSentences } from "../words/spoken-sentences.ts";
import { UNSPACED } from "../words/word-patterns.ts";
import { asksForAssistant } from "./asked-role.ts";
import { isBareTurn } from "./bare-turns.ts";
import { type Candidate, distanceToRank, type Hydrated, sortByHybridScore } from "./candidate.ts";

/**
 * Number of candidates that are compared if some are turns of people, best hybrid score first. With 30, results are the
 * same.
 */
export const TURN_CANDIDATES = 20;
/**
 * Number of candidates that are compared if some are turns of a user or an assistant. It is larger, because turns of
 * one role move down and turns of the other take their places.
 */
export const ROLE_CANDIDATES = 50;

/**
 * Loss of a turn by another speaker than the one whom the query names. All losses are shares of the distance between
 * the best hybrid score and that of rank `TURN_CANDIDATES`, so that they fit the scores of every embedding model.
 * Measured: docs/measurements.md, "Which turn answers".
 */
const OTHER_SPEAKER_LOSS = 0.3;
/** Loss of a turn that consists of questions only; proportionally less if a part of it does. */
const QUESTION_LOSS = 0.4;
/** Share of the distance to the question before it that a reply by another speaker gains. */
const REPLY_GAIN = 0.5;
/**
 * In a conversation with an assistant: loss of the assistant's turns, or of the user's if the query asks for what the
 * assistant said.
 */
const OTHER_ROLE_LOSS = 1;
/** In a conversation with an assistant: loss of a turn that says nothing, such as "tell me more". */
const BARE_LOSS = 1;

/** A candidate that is a turn. */
interface TurnCandidate {
  readonly candidate: Candidate;
  readonly turn: Turn;
  /** The spoken text, without the speaker's name. */
  readonly spoken: string;
  /** Language of the conversation, BCP 47; `und` if unknown. */
  readonly language: string;
  /** Identifies the turn before this one in the same memory. */
  readonly before: string;
}

/** What the preference depends on. */
export interface TurnQuery {
  readonly query: string;
  /** Language of the query, BCP 47; `und` if unsure. */
  readonly language: string;
  /**
   * Whether turns of conversations between named people are preferred, too. Otherwise only those with an assistant are.
   */
  readonly usesNames: boolean;
}

/** Number of candidates to compare if these are the best passages; 0 if none of them is a turn of a conversation. */
export function comparedTurns(hydrated: ReadonlyMap<bigint, Hydrated>): number {
  const turns = [...hydrated.values()].flatMap(({ passage }) => passage.place.turn ?? []);
  if (turns.length === 0) return 0;
  return turns.some(({ speaker }) => roleOf(speaker) !== null) ? ROLE_CANDIDATES : TURN_CANDIDATES;
}

/**
 * Changes the hybrid scores of turns and orders the candidates again. The sibling boost is not applied again: that
 * would cost 0.006 of R@10 on LoCoMo in precise, and gain nothing in hybrid.
 * @param candidates hydrated, best first
 */
export function preferTurns(
  { query, language: queryLanguage, usesNames }: TurnQuery,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
): readonly Candidate[] {
  const turns = new Map<string, TurnCandidate>();
  for (const candidate of candidates) {
    const found = hydrated.get(candidate.chunkKey);
    if (found?.passage.place.turn === undefined) continue;
    const { turn, ordinal } = found.passage.place;
    const at = (position: number) => `${candidate.memoryKey} ${turn.session} ${position}`;
    const spoken = found.passage.text.slice(turn.labelUnits).trim();
    const { language } = found.memory;
    turns.set(at(ordinal), { candidate, turn, spoken, language: language ?? "und", before: at(ordinal - 1) });
  }
  if (turns.size === 0) return candidates;

  const speakers = [...turns.values()].flatMap(({ turn }) => turn.speaker ?? []);
  const named = namedSpeaker(query, new Set(speakers.filter((speaker) => roleOf(speaker) === null)));
  const askedRole = asksForAssistant(query, queryLanguage) ? "assistant" : "user";
  const distance = distanceToRank(TURN_CANDIDATES, candidates);
  const changed = new Map<Candidate, number>();
  for (const { candidate, turn, spoken, language, before } of turns.values()) {
    const role = roleOf(turn.speaker);
    if (role !== null) {
      const loss = (role === askedRole ? 0 : OTHER_ROLE_LOSS) + (isBareTurn(spoken, language) ? BARE_LOSS : 0);
      changed.set(candidate, candidate.hybridScore - distance * loss);
      continue;
    }
    if (!usesNames) continue;
    const asked = turns.get(before);
    const isReply = asked !== undefined && asked.turn.speaker !== turn.speaker && isQuestion(asked.spoken);
    const lead = isReply ? Math.max(0, asked.candidate.hybridScore - candidate.hybridScore) : 0;
    const isOther = named !== null && turn.speaker !== named;
    const loss = (isOther ? OTHER_SPEAKER_LOSS : 0) + QUESTION_LOSS * questionShare(spoken);
    changed.set(candidate, candidate.hybridScore + REPLY_GAIN * lead - distance * loss);
  }
  return sortByHybridScore(
    candidates.map((candidate) => ({ ...candidate, hybridScore: changed.get(candidate) ?? candidate.hybridScore })),
  );
}

/** The speaker whom the query names first, by full name or by the first word of it; null if it names none. */
export function namedSpeaker(query: string, speakers: ReadonlySet<string>): string | null {
  const found = [...speakers].flatMap((speaker) => {
    const at = [speaker, speaker.split(/\s/u)[0] ?? ""]
      .map((name) => placeOf(name, query))
      .filter((place) => place >= 0);
    return at.length === 0 ? [] : [{ speaker, place: Math.min(...at), isFull: placeOf(speaker, query) >= 0 }];
  });
  found.sort((left, right) => left.place - right.place || Number(right.isFull) - Number(left.isFull));
  return found[0]?.speaker ?? null;
}

/** Share of a text, 0..1, that is in sentences that end with a question mark. */
export function questionShare(text: string): number {
  const sentences = spokenSentences(text);
  const lengthOf = (parts: readonly string[]) => parts.reduce((sum, part) => sum + part.trim().length, 0);
  const all = lengthOf(sentences);
  return all === 0 ? 0 : lengthOf(sentences.filter(isQuestion)) / all;
}

// Position of a name in the query as whole words; -1 if it is not there.
function placeOf(name: string, query: string): number {
  if (name === "") return -1;
  const escaped = RegExp.escape(name);
  const pattern = UNSPACED.test(name) ? escaped : `(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`;
  return query.search(new RegExp(pattern, "iu"));
}
