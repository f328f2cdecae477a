// How views name memories, passages and modes.

import type { Memory, SearchResult } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";

/** Longest beginning of a text that stands in for a missing title, in characters. */
const TITLE_CHARACTERS = 80;

/** The title of a memory, else the beginning of its text, else the name of its file. */
export function nameOf({ title, content, source }: Pick<Memory, "title" | "content" | "source">): string {
  const named = [title, content, source?.filename, source?.url].find((text) => text != null && text.trim() !== "");
  return named?.trim().slice(0, TITLE_CHARACTERS).replace(/\s+/g, " ") ?? t("Untitled");
}

/** Where a passage stands in its memory: headings, page, slide, sheet, speaker. */
export function placeOf({ metadata: { _chunk: chunk } }: SearchResult): string {
  const { headings = [], page, slide, sheet, speaker } = chunk;
  return [
    ...headings,
    page && t("page {n}", { n: page }),
    slide && t("slide {n}", { n: slide }),
    sheet && t("sheet {name}", { name: sheet }),
    speaker,
  ]
    .filter((part) => typeof part === "string" && part !== "")
    .join(" › ");
}

/** The modes of a search with what they do, fastest first. */
export const MODES = [
  ["fast", "vectors only"],
  ["hybrid", "vectors and full text"],
  ["balanced", "vectors, full text and a reranker"],
  ["precise", "vectors, full text, reranker and graph"],
] as const;
/** A mode of a search. */
export type ModeName = (typeof MODES)[number][0];

/** Filter of the address of a memory that opens it at a passage. */
export function passageFilter({ metadata: { _chunk: chunk } }: SearchResult): string {
  return `${chunk.start}-${chunk.end}`;
}
