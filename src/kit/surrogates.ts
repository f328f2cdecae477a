// Surrogates: the two UTF-16 code units of a character beyond U+FFFF. A text must not be cut between them.

/** Whether a UTF-16 code unit is the first half of a pair. */
export function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** Whether a UTF-16 code unit is the second half of a pair. */
export function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00;
}

/** Whether a cut before position `at` of a text would split a surrogate pair. */
export function splitsPair(text: string, at: number): boolean {
  return isLowSurrogate(text.charCodeAt(at)) && isHighSurrogate(text.charCodeAt(at - 1));
}
