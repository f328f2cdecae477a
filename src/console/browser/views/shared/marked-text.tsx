// A passage in which the words of the question are highlighted.

import functionWords from "../../../../../data/words/entities/function-words.txt" with { type: "text" };

/** Minimum length of a word that is highlighted, in characters. */
const MARKED_CHARACTERS_MIN = 3;

/**
 * Words such as "the" and "with", which are not highlighted, because nearly every passage has them. Lines of the list
 * that begin with `#` or `[` contain no words.
 */
const common = new Set(
  functionWords
    .split("\n")
    .filter((line) => !/^[#[]/.test(line))
    .flatMap((line) => line.split(" ")),
);

interface MarkedTextProps {
  readonly text: string;
  readonly query: string;
}

/** A text with highlighted words. */
export function MarkedText({ text, query }: MarkedTextProps) {
  return (
    <p class="passage" dir="auto">
      {withMarks(text, query)}
    </p>
  );
}

function withMarks(text: string, query: string) {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length >= MARKED_CHARACTERS_MIN);
  const telling = words.filter((word) => !common.has(plain(word)));
  const marked = telling.length > 0 ? telling : words;
  if (marked.length === 0) return text;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${marked.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((piece, at) => (at % 2 === 0 ? piece : <mark key={at}>{piece}</mark>));
}

/** A word in the form of the list: lower case, without diacritics. */
function plain(word: string): string {
  return word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
}
