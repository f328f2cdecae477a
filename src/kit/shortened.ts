// How much of a text that somebody sent is repeated to them.

/** The start of a text, short enough to stand in a message. */
export function shortened(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
