// Converts a conversation that is stored as JSON messages to readable lines.

/** Maximum length of a text that is parsed, in characters. Longer texts would block the page. */
const CHARACTERS_PARSED = 2_000_000;

/** The lines of a dialogue, `speaker: text`; null if a text is not a JSON array of messages. */
export function dialogueOf(content: string): string | null {
  if (!content.trimStart().startsWith("[") || content.length > CHARACTERS_PARSED) return null;
  let messages: unknown;
  try {
    messages = JSON.parse(content);
  } catch {
    return null; // not JSON, only a text that begins with a bracket
  }
  if (!Array.isArray(messages) || messages.length === 0) return null;
  const lines = messages.map(lineOf);
  return lines.includes(null) ? null : lines.join("\n\n");
}

function lineOf(message: unknown): string | null {
  if (typeof message !== "object" || message === null) return null;
  const { speaker, name, role, content, text } = message as Record<string, unknown>;
  const who = speaker ?? name ?? role;
  const said = content ?? text;
  return typeof who === "string" && typeof said === "string" ? `${who}: ${said}` : null;
}
