// Shows a conversation that is stored as JSON messages as a dialogue.

/** Maximum length of a text that is parsed, in characters. Longer texts would block the page. */
const CHARACTERS_PARSED = 2_000_000;

/**
 * The lines of a dialogue, `speaker: text`; null if a text is not a JSON array of messages.
 * @param {string} content
 * @returns {string | null}
 */
export function dialogueOf(content) {
  if (!content.trimStart().startsWith("[") || content.length > CHARACTERS_PARSED) return null;
  let messages;
  try {
    messages = JSON.parse(content);
  } catch {
    return null; // a text that begins with a bracket
  }
  if (!Array.isArray(messages) || messages.length === 0) return null;
  const lines = messages.map(lineOf);
  return lines.includes(null) ? null : lines.join("\n\n");
}

/** @param {any} message */
function lineOf(message) {
  if (typeof message !== "object" || message === null) return null;
  const speaker = message.speaker ?? message.name ?? message.role;
  const text = message.content ?? message.text;
  return typeof speaker === "string" && typeof text === "string" ? `${speaker}: ${text}` : null;
}
