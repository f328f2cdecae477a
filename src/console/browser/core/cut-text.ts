// Cuts texts for titles and labels. It does not use the page, so that tests can run without one.

/** The beginning of a text that is longer than `most` characters, cut between two words. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = [...text.slice(0, 2 * most)].slice(0, most).join("");
  if (cut.length === text.length) return text;
  const space = cut.lastIndexOf(" ");
  return `${cut.slice(0, space > most / 2 ? space : undefined).replace(/[\s.,;:]+$/, "")}…`;
}

/** A text with its line breaks and repeated spaces as single spaces. */
export function textInOneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
