// Formats JSON for people: short arrays and objects stay on one line.

/** Maximum length in characters of an array or object that stays on one line, without its indentation and name. */
const LINE_CHARACTERS = 56;

/** Formats a JSON value with two spaces per level. The outermost level always gets one line per entry. */
export function prettyJson(value: unknown, indent = ""): string {
  const entries = entriesOf(value);
  if (entries.length === 0) return JSON.stringify(value);
  const flat = flatJson(value);
  if (indent !== "" && flat.length <= LINE_CHARACTERS) return flat;
  const inner = `${indent}  `;
  const lines = entries.map(([lead, part]) => inner + lead + prettyJson(part, inner));
  return enclosed(value, `\n${lines.join(",\n")}\n${indent}`);
}

function flatJson(value: unknown): string {
  const entries = entriesOf(value);
  if (entries.length === 0) return JSON.stringify(value);
  return enclosed(value, entries.map(([lead, part]) => lead + flatJson(part)).join(", "));
}

// The entries of an array or object, each with the text in front of it; empty for any other value.
function entriesOf(value: unknown): readonly (readonly [lead: string, part: unknown])[] {
  if (Array.isArray(value)) return value.map((part: unknown) => ["", part]);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([name, part]) => [`${JSON.stringify(name)}: `, part]);
}

function enclosed(value: unknown, inside: string): string {
  return Array.isArray(value) ? `[${inside}]` : `{${inside}}`;
}
