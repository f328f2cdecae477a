// Shortens caller-supplied text for use in messages.

/** The first 64 UTF-16 code units of a text, with an ellipsis if it is longer. */
export function shortened(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
