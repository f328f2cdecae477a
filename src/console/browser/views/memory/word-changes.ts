// What changed between two texts, word by word.

/** A piece of a text, and whether it is only in the newer or only in the older one. */
export interface Piece {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Number of words of each text up to which they are compared: the comparison takes the product of both. */
const WORDS_MAX = 600;

/** The pieces of both texts in order; null if they are too long to compare, or have hardly a word in common. */
export function wordChanges(before: string, after: string): readonly Piece[] | null {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  if (old.length > WORDS_MAX || now.length > WORDS_MAX) return null;
  // length of the longest common sequence of words from each pair of places on
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let at = old.length - 1; at >= 0; at--) {
    for (let to = now.length - 1; to >= 0; to--) {
      const [row, next] = [common[at] as Uint16Array, common[at + 1] as Uint16Array];
      row[to] = old[at] === now[to] ? (next[to + 1] ?? 0) + 1 : Math.max(next[to] ?? 0, row[to + 1] ?? 0);
    }
  }
  const pieces: { kind: Piece["kind"]; text: string }[] = [];
  const add = (kind: Piece["kind"], text: string) => {
    const last = pieces.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text !== "") pieces.push({ kind, text });
  };
  let [removed, added] = ["", ""];
  const close = () => {
    const gone = removed.trim();
    if (gone !== "" && removed !== removed.trimStart()) add("same", " ");
    add("removed", gone);
    if (gone !== "" && (added.trim() !== "" || removed !== removed.trimEnd())) add("same", " ");
    add("added", gone === "" ? added : added.trimStart());
    [removed, added] = ["", ""];
  };
  let [at, to] = [0, 0];
  while (at < old.length || to < now.length) {
    if (at < old.length && to < now.length && old[at] === now[to]) {
      const word = now[to] ?? "";
      // a space between two changes belongs to them, so that a changed phrase stays in one piece
      const isBetween = word.trim() === "" && (removed !== "" || added !== "") && isChange(common, at + 1, to + 1);
      if (isBetween) {
        removed += word;
        added += word;
      } else {
        close();
        add("same", word);
      }
      at++;
      to++;
    } else if (at < old.length && (to === now.length || lengthAt(common, at + 1, to) >= lengthAt(common, at, to + 1))) {
      removed += old[at++] ?? "";
    } else added += now[to++] ?? "";
  }
  close();
  const kept = pieces.flatMap(({ kind, text }) => (kind === "same" ? countOf(wordsOf(text)) : []));
  const isLike = kept.reduce((sum, count) => sum + count, 0) * 4 >= Math.min(countOf(old), countOf(now));
  return isLike ? pieces : null;

  /** Whether the words at these places are not the same word of both texts. */
  function isChange(lengths: typeof common, from: number, until: number): boolean {
    if (from === old.length && until === now.length) return false;
    return old[from] !== now[until] || lengthAt(lengths, from, until) === lengthAt(lengths, from + 1, until + 1);
  }
}

function lengthAt(common: readonly Uint16Array[], at: number, to: number): number {
  return common[at]?.[to] ?? 0;
}

/** Number of words among words and what is between them. */
function countOf(words: readonly string[]): number {
  return words.filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** Words and what is between them. */
function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{M}\p{N}]+|\s+|[^\p{L}\p{M}\p{N}\s]/gu) ?? [];
}
