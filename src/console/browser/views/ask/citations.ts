// Which source each citation such as `[1]` of an answer means.

import type { SearchResult } from "../../core/calls.ts";

/** The cited sources by their numbers; null: the source is gone, or cannot be told from others. */
export type Citations = ReadonlyMap<number, SearchResult | null>;

/** Finds the source of each citation of an answer, in the order of their numbers. */
export function citationsOf(text: string, sources: readonly SearchResult[]): Citations {
  const cited = sources.filter((source) => source.cited === true);
  const named = [...text.matchAll(/\[(\d{1,2})\]/g)].map(([, number]) => Number(number));
  const byNumber = new Map(cited.flatMap((source) => (source.citation ? [[source.citation, source] as const] : [])));
  // messages of older versions have no numbers; the order of the sources gives them, as long as no source is gone
  const isPlaced = byNumber.size === 0 && Math.max(0, ...named) <= cited.length;
  const found = isPlaced ? new Map(cited.map((source, at) => [at + 1, source])) : byNumber;
  const numbers = new Set([...named, ...found.keys()]);
  return new Map([...numbers].sort((a, b) => a - b).map((number) => [number, found.get(number) ?? null]));
}
