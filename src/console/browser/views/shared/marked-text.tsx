// A passage in which the words of the question and the spans that answer it are marked.

/** A span of a text in code points. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Shortest word of the question that is marked in passages, in characters. */
const MARKED_CHARACTERS_MIN = 3;

interface MarkedTextProps {
  readonly text: string;
  readonly query?: string | undefined;
  readonly spans?: readonly Span[] | undefined;
}

/** A text with its marks. */
export function MarkedText({ text, query = "", spans = [] }: MarkedTextProps) {
  return (
    <p class="passage" dir="auto">
      {piecesOf(text, spans).map(({ piece, isSpan }, at) =>
        isSpan ? (
          <strong key={at} class="answer-span">
            {wordsOf(piece, query)}
          </strong>
        ) : (
          wordsOf(piece, query)
        ),
      )}
    </p>
  );
}

function piecesOf(text: string, spans: readonly Span[]): readonly { piece: string; isSpan: boolean }[] {
  if (spans.length === 0) return [{ piece: text, isSpan: false }];
  const points = Array.from(text);
  const pieces: { piece: string; isSpan: boolean }[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    pieces.push({ piece: points.slice(at, start).join(""), isSpan: false });
    pieces.push({ piece: points.slice(start, end).join(""), isSpan: true });
    at = end;
  }
  pieces.push({ piece: points.slice(at).join(""), isSpan: false });
  return pieces;
}

function wordsOf(text: string, query: string) {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length >= MARKED_CHARACTERS_MIN);
  if (words.length === 0) return text;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((piece, at) => (at % 2 === 0 ? piece : <mark key={at}>{piece}</mark>));
}
