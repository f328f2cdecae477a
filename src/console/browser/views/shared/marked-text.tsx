// A passage in which the words of the question are marked.

/** Shortest word of the question that is marked in passages, in characters. */
const MARKED_CHARACTERS_MIN = 3;

interface MarkedTextProps {
  readonly text: string;
  readonly query: string;
}

/** A text with its marks. */
export function MarkedText({ text, query }: MarkedTextProps) {
  return (
    <p class="passage" dir="auto">
      {withMarks(text, query)}
    </p>
  );
}

function withMarks(text: string, query: string) {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length >= MARKED_CHARACTERS_MIN);
  if (words.length === 0) return text;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((piece, at) => (at % 2 === 0 ? piece : <mark key={at}>{piece}</mark>));
}
