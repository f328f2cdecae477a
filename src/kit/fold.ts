// Folds texts, so that comparisons ignore case and Unicode representation.

/**
 * Folds a text: removes differences in case and Unicode representation (NFKC, lower case). The length stays the same
 * for nearly all texts.
 */
export function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
