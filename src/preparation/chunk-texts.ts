// Builds the texts of chunks from the content and its chunk ranges. domain/chunk.ts formats the texts of turns.

import { type Chunk, type ChunkTexts, type Turn, turnContext, turnSentence, turnText } from "../domain/chunk.ts";
import type { AnyText } from "../kit/pieced-text.ts";
import type { Cut } from "./chunk.ts";

/** Separator between the passages of a context. */
const PASSAGE_BREAK = "\n\n";
/**
 * Number of turns before, and of turns after, a turn that its context contains. Full text thus also finds the turn by
 * words of its neighbours.
 */
const CONTEXT_TURNS = 2;

/** The texts of the chunks of one content. */
export class CutTexts implements ChunkTexts {
  readonly #content: AnyText;
  readonly #cut: Cut;

  constructor(content: AnyText, cut: Cut) {
    this.#content = content;
    this.#cut = cut;
  }

  passage({ ordinal }: Chunk): string {
    return this.#passageAt(ordinal);
  }

  embeddedText({ ordinal, turn }: Chunk): string {
    const passage = this.#passageAt(ordinal);
    return turn === undefined ? this.#titleAt(ordinal) + passage : turnSentence(turn, passage);
  }

  searchText({ ordinal, turn }: Chunk): string {
    const passage = this.#passageAt(ordinal);
    return turn === undefined ? this.#prefixAt(ordinal) + passage : turnText(turn, passage);
  }

  contextText({ ordinal, turn }: Chunk): string | null {
    if (turn !== undefined) return this.#turnContextAt(ordinal, turn);
    if (this.#cut.ranges.length === 1) return null;
    const near = [ordinal - 1, ordinal, ordinal + 1].filter((position) => position in this.#cut.ranges);
    const passages = near.map((position) => this.#passageAt(position));
    return this.#prefixAt(ordinal) + passages.join(PASSAGE_BREAK);
  }

  #turnContextAt(ordinal: number, turn: Turn): string | null {
    const around: { turn: Turn; passage: string }[] = [];
    for (let near = Math.max(0, ordinal - CONTEXT_TURNS); near <= ordinal + CONTEXT_TURNS; near++) {
      const neighbour = this.#cut.ranges[near]?.turn;
      if (neighbour?.session === turn.session) around.push({ turn: neighbour, passage: this.#passageAt(near) });
    }
    return around.length === 1 ? null : turnContext(turn, around);
  }

  // A slice does not copy the content: it shares its memory.
  #passageAt(ordinal: number): string {
    const range = this.#cut.ranges[ordinal];
    return range === undefined ? "" : (range.passage ?? this.#content.slice(range.start, range.end));
  }

  #titleAt(ordinal: number): string {
    return this.#cut.ranges[ordinal]?.hasTitle ? this.#cut.titlePrefix : "";
  }

  #prefixAt(ordinal: number): string {
    return this.#titleAt(ordinal) + (this.#cut.ranges[ordinal]?.section.prefix ?? "");
  }
}
