// The cited sources as text at the end of an answer, for clients that show neither annotations nor `mneme.sources`.

import { withoutCitations } from "../../answer/citation-marks.ts";

/** A source as an answer cites it. */
export interface CitedSource {
  readonly title: string;
  readonly url: string;
}

/** The text to append to an answer: one line for each source; empty if there are none. */
export function sourceList(sources: readonly CitedSource[]): string {
  if (sources.length === 0) return "";
  const lines = sources.map(({ title, url }, at) => `[${at + 1}] ${withoutCitations(title)}: ${url}`);
  return `\n\n${lines.join("\n")}`;
}

const LIST = /\n\n(?:\[\d{1,3}\] [^\n]+: \S+(?:\n|$))+$/;

/** Removes the list of `sourceList` from the end of an answer that a client sends back as history. */
export function withoutSourceList(text: string): string {
  // The list is at the end, so a match is looked for in the last paragraph only.
  const at = text.lastIndexOf("\n\n");
  return at !== -1 && LIST.test(text.slice(at)) ? text.slice(0, at) : text;
}
