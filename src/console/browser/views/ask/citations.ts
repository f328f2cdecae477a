// Which source each citation such as `[1]` of an answer means. The server numbers the cited sources from 1, but leaves
// out those whose memory was deleted since, so that the place in the list tells the number only while all are there.

import type { SearchResult } from "../../core/calls.ts";

/** Share of the words of a sentence that its source has at least. */
const SHARED_WORDS_MIN = 0.6;

/** The cited sources by their numbers; null: the source is gone, or cannot be told from others. */
export type Citations = ReadonlyMap<number, SearchResult | null>;

/** Finds the source of each citation of an answer. */
export function citationsOf(text: string, sources: readonly SearchResult[]): Citations {
  const cited = sources.filter((source) => source.cited === true);
  const listed = cited.length > 0 ? cited : sources;
  const sentences = sentencesByNumber(text);
  const numbers = [...sentences.keys()].sort((a, b) => a - b);
  const highest = numbers.at(-1) ?? 0;
  if (highest <= listed.length) {
    const all = new Set([...numbers, ...cited.keys().map((at) => at + 1)]);
    return new Map([...all].sort((a, b) => a - b).map((number) => [number, listed[number - 1] ?? null]));
  }
  // some are gone: those that remain are known by what the answer says of them
  const free = new Set(cited);
  return new Map(
    numbers.map((number) => {
      const best = [...free]
        .map((source) => ({ source, share: sharedWords(sentences.get(number) ?? "", source.content) }))
        .sort((one, other) => other.share - one.share)[0];
      if (best === undefined || best.share < SHARED_WORDS_MIN) return [number, null];
      free.delete(best.source);
      return [number, best.source];
    }),
  );
}

/** What stands before each citation, back to the citation before or the end of the sentence before. */
function sentencesByNumber(text: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  let from = 0;
  let sentence = "";
  for (const match of text.matchAll(/\[(\d{1,2})\]/g)) {
    const before = text.slice(from, match.index);
    // of two citations in a row, both belong to the same sentence
    if (/[\p{L}\p{N}]/u.test(before)) sentence = before.split(/(?<=[.!?。！？])\s+(?=\S)/u).at(-1) ?? before;
    const number = Number(match[1]);
    found.set(number, `${found.get(number) ?? ""} ${sentence}`);
    from = match.index + match[0].length;
  }
  return found;
}

function sharedWords(sentence: string, content: string): number {
  const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const words = new Set(wordsOf(sentence));
  const known = new Set(wordsOf(content));
  if (words.size === 0) return 0;
  return [...words].filter((word) => known.has(word)).length / words.size;
}
