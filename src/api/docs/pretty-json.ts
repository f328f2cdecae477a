// Writes JSON for people: what is short stands on one line.

/** Longest array or object that stays on one line, its indentation and name aside. */
const LINE_CHARACTERS = 56;

/** A JSON value, indented by two spaces per level; the outermost is always broken into lines, as bodies are. */
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

// What stands in an array or object, each with what is written in front of it; of anything else nothing.
function entriesOf(value: unknown): readonly (readonly [lead: string, part: unknown])[] {
  if (Array.isArray(value)) return value.map((part: unknown) => ["", part]);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([name, part]) => [`${JSON.stringify(name)}: `, part]);
}

function enclosed(value: unknown, inside: string): string {
  return Array.isArray(value) ? `[${inside}]` : `{${inside}}`;
}
