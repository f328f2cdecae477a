// A passage in which the words of the question are highlighted.

import { isCommonWord } from "./common-words.ts";

/** Minimum length of a word that is highlighted, in characters. */
const MARKED_CHARACTERS_MIN = 3;

interface MarkedTextProps {
  readonly text: string;
  readonly query: string;
  /** Where the text leads; undefined: it is no link. */
  readonly href?: string;
}

/** A text with highlighted words. */
export function MarkedText({ text, query, href }: MarkedTextProps) {
  return (
    <p class="passage" dir="auto">
      {href === undefined ? (
        withMarks(text, query)
      ) : (
        <a class="quiet-link" href={href}>
          {withMarks(text, query)}
        </a>
      )}
    </p>
  );
}

function withMarks(text: string, query: string) {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length >= MARKED_CHARACTERS_MIN);
  const telling = words.filter((word) => !isCommonWord(word));
  const marked = telling.length > 0 ? telling : words;
  if (marked.length === 0) return text;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${marked.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((piece, at) => (at % 2 === 0 ? piece : <mark key={at}>{piece}</mark>));
}
