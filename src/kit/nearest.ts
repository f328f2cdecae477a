// Suggestions for misspelled names, used in errors about flags, settings and fields.

/** Maximum share of edited letters at which a suggestion is still useful. */
const EDITS_SHARE_MAX = 0.4;

/**
 * The known name that is closest to `name` by edit distance, ignoring case, `-` and `_`; null if none is close. Time:
 * proportional to `known.length` times the product of the two lengths, so use it for short names and short lists.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestEdits = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const edits = editDistance(plain(name), plain(candidate));
    if (edits < bestEdits && edits <= Math.max(1, candidate.length * EDITS_SHARE_MAX)) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** The suggestion ` Did you mean X?`, to be appended to an error message; empty if no known name is close. */
export function didYouMean(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? "" : ` Did you mean ${nearest}?`;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, "");
}

// Optimal string alignment: Levenshtein distance in which a swap of two adjacent letters, the most common typing error,
// is one edit.
function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isEqual = left[row - 1] === right[column - 1];
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const substitution = (previous[column - 1] ?? 0) + (isEqual ? 0 : 1);
      const insertion = (current[column - 1] ?? 0) + 1;
      const deletion = (previous[column] ?? 0) + 1;
      const swap = isSwap ? (beforePrevious[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min(substitution, insertion, deletion, swap));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
}
