// Which of the passages that were found a language model is shown, how much of each, and in which order. A number in
// the prompt stands for one passage, so that what it cites is one source of the answer.

import { estimatedTokens } from "../domain/language-model.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import { isoTime } from "../kit/clock.ts";
import { withoutDuplicates } from "./duplicates.ts";
import { excerptOf, type Terms, termsOf, wordsFitting } from "./excerpt.ts";
import { closing, element, harmless, opening } from "./marks.ts";

/** What a model is shown, and what its numbers stand for. */
export interface PackedContext {
  /** Everything in `<sources>`. */
  readonly text: string;
  /** `[n]` is the n-th, from 1. Empty: no passage has anything to show, so there is nothing to answer from. */
  readonly sources: readonly RankedPassage[];
  /** Of `text`, estimated. */
  readonly tokens: number;
}

/** What decides on what is shown. */
export interface PackOptions {
  /** Of a passage without room as a whole, what matches this is shown. */
  readonly question: string;
  /** Estimated tokens of the text at most. */
  readonly tokensMax: number;
  /** Passages at most; with more candidates than that, others take the place of duplicates. */
  readonly sourcesMax: number;
}

/** Passages looked at, at most. */
const CANDIDATES_MAX = 200;
/** What the best passage has at least, whatever the budget. */
const BEST_TOKENS_MIN = 64;
/** No passage is cut down to less than this: such a rest says nothing. */
const EXCERPT_TOKENS_MIN = 24;
const FRAME_TOKENS = estimatedTokens(element("sources", ""));
const NUMBER_PLACEHOLDER = 888;

/** A passage that is shown, as far as there is room. */
interface Shown {
  readonly passage: RankedPassage;
  readonly text: string;
  readonly isWhole: boolean;
}

/**
 * Packs passages into a budget, the best first: whole as long as there is room, then sentences of those that match the
 * question best. What a better one says is left out. All passages of a memory stand in one `<document>` with its title,
 * type and day, in the order in which the memory has them, each in a `<source>` with its number; documents stand in the
 * order of their best passage. Reading order within a document and best first between them: what is next to each other
 * belongs together, and what matters most is read first. However small the budget, the best passage has some tokens.
 * @param passages best first
 */
export function pack(passages: readonly RankedPassage[], options: PackOptions): PackedContext {
  const shown = chooseWithin(withoutDuplicates(passages.slice(0, CANDIDATES_MAX)), options);
  const documents = [...Map.groupBy(shown, ({ passage }) => passage.memory.key).values()];
  const sources: RankedPassage[] = [];
  const blocks = documents.map((pieces) => {
    const ordered = inReadingOrder(pieces);
    const lines = ordered.map(({ passage, text }) => {
      return element("source", text, { id: sources.push(passage), ...placeOf(passage) });
    });
    return [documentOpening(pieces[0]?.passage), ...lines, closing("document")].join("\n");
  });
  const text = element("sources", blocks.join("\n"));
  return { text, sources, tokens: estimatedTokens(text) };
}

// Takes passages as long as there is room for them.
function chooseWithin(passages: Iterable<RankedPassage>, options: PackOptions): readonly Shown[] {
  const terms = termsOf(options.question);
  const shown: Shown[] = [];
  const headed = new Set<RankedPassage["memory"]["key"]>();
  let left = options.tokensMax - FRAME_TOKENS;
  for (const passage of passages) {
    if (shown.length >= options.sourcesMax || (shown.length > 0 && left < EXCERPT_TOKENS_MIN)) break;
    const frame = frameTokens(passage, !headed.has(passage.memory.key));
    const room = left - frame;
    const piece = fitting(
      passage,
      terms,
      shown.length === 0 ? Math.max(room, BEST_TOKENS_MIN) : room,
      shown.length === 0,
    );
    if (piece === null) continue;
    shown.push(piece);
    headed.add(passage.memory.key);
    left -= frame + estimatedTokens(piece.text);
  }
  return shown;
}

function fitting(passage: RankedPassage, terms: Terms, tokensMax: number, isBest: boolean): Shown | null {
  const text = harmless(passage.text).trim();
  if (text === "") return null;
  if (estimatedTokens(text) <= tokensMax) return { passage, text, isWhole: true };
  if (tokensMax < EXCERPT_TOKENS_MIN) return null;
  const excerpt = excerptOf(text, terms, tokensMax) ?? (isBest ? wordsFitting(text, tokensMax) : null);
  return excerpt === null ? null : { passage, text: excerpt, isWhole: false };
}

// By their places in the memory. What a passage repeats of the one before it is left out.
function inReadingOrder(pieces: readonly Shown[]): readonly Shown[] {
  const ordered = [...pieces].sort((left, right) => {
    return (
      left.passage.place.start - right.passage.place.start || left.passage.place.ordinal - right.passage.place.ordinal
    );
  });
  return ordered.map((piece, at) => {
    const before = ordered[at - 1];
    const text = before?.isWhole && piece.isWhole ? withoutOverlap(before, piece) : "";
    return text === "" ? piece : { ...piece, text };
  });
}

// Empty where they do not overlap.
function withoutOverlap(before: Shown, piece: Shown): string {
  const shared = before.passage.place.end - piece.passage.place.start;
  if (shared <= 0) return "";
  const repeated = [...piece.text].slice(0, shared).join("");
  return before.text.endsWith(repeated) ? piece.text.slice(repeated.length).trimStart() : "";
}

function frameTokens(passage: RankedPassage, isFirst: boolean): number {
  const source = element("source", "", { id: NUMBER_PLACEHOLDER, ...placeOf(passage) });
  const document = isFirst ? `\n${documentOpening(passage)}\n${closing("document")}` : "";
  return estimatedTokens(`\n${source}${document}`);
}

function documentOpening(passage: RankedPassage | undefined): string {
  if (passage === undefined) return opening("document");
  const { title, type, source, createdAt } = passage.memory;
  return opening("document", {
    title: title ?? source?.filename ?? null,
    type,
    stored: isoTime(createdAt).slice(0, "2026-11-21".length),
  });
}

// Of a turn its day, and in its later parts, which do not begin with it, its speaker.
function placeOf({ place }: RankedPassage): Readonly<Record<string, string | number | null>> {
  const { page, slide, sheet, headings, turn } = place;
  return {
    page: page ?? null,
    slide: slide ?? null,
    sheet: sheet ?? null,
    section: headings.join(" / "),
    speaker: turn?.labelUnits === 0 ? turn.speaker : null,
    date: turn?.date ?? null,
  };
}
