// Which texts are short. It does not use the page, so that tests can run without one.

/** Maximum length of a text that leaves room for other parts of the memory beside it, in characters. */
const SHORT_CHARACTERS = 400;

/** Whether a text is so short that other parts of the memory are shown below it. */
export function isShort(content: string | undefined): boolean {
  return (content ?? "").length <= SHORT_CHARACTERS;
}
