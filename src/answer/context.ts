// Assembles the sources of a prompt: chooses which passages fit into the token budget, shortens them, and orders them.
// Each number in the prompt stands for one passage, so that a citation refers to one source.

import { estimatedTokens } from "../domain/language-model.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import { isDateOnly, isoTime } from "../kit/clock.ts";
import { UTC, wallTime } from "../kit/time-zone.ts";
import { withoutDuplicates } from "./duplicates.ts";
import { excerptOf, type Terms, termsOf, wordsFitting } from "./excerpt.ts";
import { closing, element, neutralise, opening } from "./prompt-markup.ts";

/** The sources part of a prompt. */
export interface PackedContext {
  /** The `<sources>` element. */
  readonly text: string;
  /**
   * Source `[n]` is the n-th, from 1. The list is empty if no passage has any text; then the question cannot be
   * answered.
   */
  readonly sources: readonly RankedPassage[];
  /** Estimated tokens of `text`. */
  readonly tokens: number;
}

/** Options of `packContext`. */
export interface PackOptions {
  /** A passage that does not fit as a whole is shortened to the sentences that match this question best. */
  readonly question: string;
  /** Maximum estimated tokens of the text. */
  readonly tokensMax: number;
  /** Maximum number of passages in the prompt. If there are more candidates, other passages replace duplicates. */
  readonly sourcesMax: number;
  /** Zone of the times of documents: an IANA name, or an offset such as `+09:00`. Default: UTC. */
  readonly timeZone?: string;
}

/** Maximum number of passages that are considered. */
const CANDIDATES_MAX = 200;
/** Minimum number of tokens for the best passage, even if the budget is smaller. */
const BEST_TOKENS_MIN = 64;
/** Minimum number of tokens of a shortened passage, because a shorter excerpt is useless. */
const EXCERPT_TOKENS_MIN = 24;
const FRAME_TOKENS = estimatedTokens(element("sources", ""));
const NUMBER_PLACEHOLDER = 888;

/** A passage with the text that the prompt shows. */
interface Excerpt {
  readonly passage: RankedPassage;
  readonly text: string;
  readonly isWhole: boolean;
}

/**
 * Packs passages into a token budget, best first: whole passages while they fit, then excerpts that match the question
 * best. Duplicates of better passages are left out. Even with a very small budget, the best passage gets some tokens.
 *
 * All passages of a memory are in one `<document>` with its title, type and times, each in a numbered `<source>`. In
 * a document they are in reading order, so that neighbours stay together. Documents are ordered by their best passage,
 * so that the model reads the most important ones first.
 * @param passages best first
 */
export function packContext(passages: readonly RankedPassage[], options: PackOptions): PackedContext {
  const shown = selectWithin(withoutDuplicates(passages.slice(0, CANDIDATES_MAX)), options);
  const documents = [...Map.groupBy(shown, ({ passage }) => passage.memory.key).values()];
  const sources: RankedPassage[] = [];
  const blocks = documents.map((pieces) => {
    const ordered = inReadingOrder(pieces);
    const lines = ordered.map(({ passage, text }) => {
      return element("source", text, { id: sources.push(passage), ...placeOf(passage) });
    });
    return [documentOpening(pieces[0]?.passage, options.timeZone), ...lines, closing("document")].join("\n");
  });
  const text = element("sources", blocks.join("\n"));
  return { text, sources, tokens: estimatedTokens(text) };
}

// Selects passages, best first, while they fit into the budget.
function selectWithin(passages: Iterable<RankedPassage>, options: PackOptions): readonly Excerpt[] {
  const terms = termsOf(options.question);
  const shown: Excerpt[] = [];
  const opened = new Set<RankedPassage["memory"]["key"]>();
  let left = options.tokensMax - FRAME_TOKENS;
  for (const passage of passages) {
    if (shown.length >= options.sourcesMax || (shown.length > 0 && left < EXCERPT_TOKENS_MIN)) break;
    const frame = frameTokens(passage, !opened.has(passage.memory.key), options.timeZone);
    const room = left - frame;
    const isBest = shown.length === 0;
    const piece = fitting(passage, terms, isBest ? Math.max(room, BEST_TOKENS_MIN) : room, isBest);
    if (piece === null) continue;
    shown.push(piece);
    opened.add(passage.memory.key);
    left -= frame + estimatedTokens(piece.text);
  }
  return shown;
}

function fitting(passage: RankedPassage, terms: Terms, tokensMax: number, isBest: boolean): Excerpt | null {
  const text = neutralise(passage.text).trim();
  if (text === "") return null;
  if (estimatedTokens(text) <= tokensMax) return { passage, text, isWhole: true };
  if (tokensMax < EXCERPT_TOKENS_MIN) return null;
  const excerpt = excerptOf(text, terms, tokensMax) ?? (isBest ? wordsFitting(text, tokensMax) : null);
  return excerpt === null ? null : { passage, text: excerpt, isWhole: false };
}

// Sorts the passages of a memory by position, and removes from each the overlap with the one before it.
function inReadingOrder(pieces: readonly Excerpt[]): readonly Excerpt[] {
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

// Returns the text of a piece without its overlap with the piece before; empty if they do not overlap.
function withoutOverlap(before: Excerpt, piece: Excerpt): string {
  const shared = before.passage.place.end - piece.passage.place.start;
  if (shared <= 0) return "";
  const repeated = [...piece.text].slice(0, shared).join("");
  return before.text.endsWith(repeated) ? piece.text.slice(repeated.length).trimStart() : "";
}

function frameTokens(passage: RankedPassage, isFirst: boolean, timeZone: string | undefined): number {
  const source = element("source", "", { id: NUMBER_PLACEHOLDER, ...placeOf(passage) });
  const document = isFirst ? `\n${documentOpening(passage, timeZone)}\n${closing("document")}` : "";
  return estimatedTokens(`\n${source}${document}`);
}

function documentOpening(passage: RankedPassage | undefined, timeZone: string = UTC): string {
  if (passage === undefined) return opening("document");
  const { title, type, source, createdAt, occurredAt, occurredAtGiven } = passage.memory;
  const isDate = occurredAtGiven !== null && isDateOnly(occurredAtGiven);
  return opening("document", {
    title: title ?? source?.filename ?? null,
    type,
    happened: occurredAt === null ? null : isDate ? occurredAtGiven : minuteOf(occurredAt, timeZone),
    stored: minuteOf(createdAt, timeZone),
  });
}

/** A time to the minute, such as `2026-11-21 10:05`: corrections often follow within minutes. */
function minuteOf(ms: number, timeZone: string): string {
  return isoTime(wallTime(ms, timeZone)).slice(0, "2026-11-21T10:05".length).replace("T", " ");
}

// Attributes of a source element. For a turn, these are its day, and its speaker if the passage does not begin with the
// speaker.
function placeOf({ place }: RankedPassage): Readonly<Record<string, string | number | null>> {
  const { page, slide, sheet, cells, headings, turn } = place;
  return {
    page: page ?? null,
    slide: slide ?? null,
    sheet: sheet ?? null,
    cells: cells ?? null,
    section: headings.join(" / "),
    speaker: turn?.labelUnits === 0 ? turn.speaker : null,
    date: turn?.date ?? null,
  };
}
