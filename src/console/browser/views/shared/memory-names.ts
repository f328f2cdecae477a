// Names of memories, passages and search modes in all views.

import type { Memory, SearchResult } from "../../core/calls.ts";
import { cutText, textInOneLine } from "../../core/cut-text.ts";
import { t } from "../../core/i18n.ts";

/** Maximum length of the beginning of a text that replaces a missing title, in characters. */
const TITLE_CHARACTERS = 80;

/** The title of a memory; otherwise the beginning of its text; otherwise the name of its file or its address. */
export function nameOf({ title, content, source }: Pick<Memory, "title" | "content" | "source">): string {
  const named = [title, content, source?.filename, source?.url].find((text) => text != null && text.trim() !== "");
  return named == null ? t("Untitled") : cutText(textInOneLine(named.slice(0, 4 * TITLE_CHARACTERS)), TITLE_CHARACTERS);
}

/** Like `nameOf`; but where the title is the beginning of the text, it goes on, so that like ones can be told apart. */
export function longNameOf(memory: Pick<Memory, "title" | "content" | "source">): string {
  const name = nameOf(memory);
  const text = textInOneLine((memory.content ?? "").slice(0, 4 * TITLE_CHARACTERS));
  return text.startsWith(name.replace(/…$/, "")) ? text : name;
}

/** The place of a passage in its memory: headings, page, slide, sheet, speaker. */
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

/** The search modes, fastest first, each with a short description. */
export const MODES = [
  ["fast", "vectors only"],
  ["hybrid", "vectors and full text"],
  ["balanced", "vectors, full text and a reranker"],
  ["precise", "vectors, full text, reranker and graph"],
] as const;
/** A mode of a search. */
export type ModeName = (typeof MODES)[number][0];

/** Value of the address filter with which a memory is opened at a passage. */
export function passageFilter({ metadata: { _chunk: chunk } }: SearchResult): string {
  return `${chunk.start}-${chunk.end}`;
}
