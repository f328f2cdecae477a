// Parses the content lines of iCalendar (RFC 5545) and vCard (RFC 6350, and version 2.1), and the components that they
// make. Tolerates what programs write wrong: a broken line is left out, an open component ends with the file.

/** A property: `DTSTART;TZID=Europe/Berlin:20260505T140000`. */
export interface Property {
  /** In capitals, without a group: `item1.EMAIL` is `EMAIL`. */
  readonly name: string;
  /** Group of a vCard's property, such as `item1`; empty if it has none. */
  readonly group: string;
  /** Values by name in capitals. Parameters without a name, as in vCard 2.1, are values of `TYPE`. */
  readonly parameters: ReadonlyMap<string, readonly string[]>;
  /** As written: with backslashes. */
  readonly value: string;
}

/** A component: `BEGIN:VEVENT` to `END:VEVENT`. */
export interface Component {
  /** In capitals. */
  readonly name: string;
  readonly properties: Property[];
  readonly components: Component[];
}

/** Maximum depth of components. Calendars have three. */
const DEPTH_MAX = 16;
const LINE = /^([A-Za-z0-9.-]{1,128})((?:;(?:[^":;]|"[^"]*")*)*):(.*)$/s;

/** Parses components. Also returns how many lines could not be read. Takes linear time. */
export function componentsOf(text: string): {
  readonly components: readonly Component[];
  readonly brokenLines: number;
} {
  const root: Component = { name: "", properties: [], components: [] };
  const open = [root];
  let brokenLines = 0;
  for (const line of unfoldedLines(text)) {
    if (line.trim() === "") continue;
    const property = propertyOf(line);
    const current = open.at(-1) ?? root;
    if (property === null) brokenLines += 1;
    else if (property.name === "BEGIN") {
      const component = { name: property.value.trim().toUpperCase(), properties: [], components: [] };
      current.components.push(component);
      if (open.length <= DEPTH_MAX) open.push(component);
    } else if (property.name === "END") {
      const at = open.findLastIndex(({ name }) => name === property.value.trim().toUpperCase());
      if (at > 0) open.length = at;
    } else current.properties.push(property);
  }
  return { components: root.components, brokenLines };
}

/** The first property with this name. */
export function propertyOfName({ properties }: Component, name: string): Property | null {
  return properties.find((property) => property.name === name) ?? null;
}

/** The text of a property, without escapes; empty if it is null. */
export function textOf(property: Property | null): string {
  return property === null ? "" : unescaped(property.value).trim();
}

/** The parts of a property that are separated by semicolons, such as those of an address. */
export function partsOf(property: Property): readonly string[] {
  return splitUnescaped(property.value, ";").map((part) => unescaped(part).trim());
}

/** Splits a value at a character that no backslash precedes. */
export function splitUnescaped(value: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < value.length; at++) {
    if (value[at] === "\\") at += 1;
    else if (value[at] === separator) {
      parts.push(value.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, value.slice(from)];
}

function unescaped(value: string): string {
  return value.replace(/\\(.)/gs, (_, sign: string) => (sign === "n" || sign === "N" ? "\n" : sign));
}

/**
 * Joins the lines that were folded: a line that begins with white space continues the one before. A quoted-printable
 * value also continues after a line that ends with `=`.
 */
function* unfoldedLines(text: string): Generator<string> {
  let parts: string[] = [];
  let isQuoted = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (isQuoted && parts.length > 0) {
      const isContinued = parts.at(-1)?.endsWith("=") === true;
      if (isContinued) {
        parts[parts.length - 1] = (parts.at(-1) ?? "").slice(0, -1);
        parts.push(line.trim());
        continue;
      }
    }
    if (/^[ \t]/.test(line) && parts.length > 0) {
      parts.push(line.slice(1));
      continue;
    }
    if (parts.length > 0) yield parts.join("");
    parts = [line];
    isQuoted = /;(?:ENCODING=)?QUOTED-PRINTABLE[;:]/i.test(line.slice(0, 200));
  }
  if (parts.length > 0) yield parts.join("");
}

function propertyOf(line: string): Property | null {
  const [, written = "", given = "", value = ""] = LINE.exec(line) ?? [];
  if (written === "") return null;
  const dot = written.lastIndexOf(".");
  const parameters = new Map<string, string[]>();
  for (const part of given.match(/(?:[^";]|"[^"]*")+/g) ?? []) {
    const equals = part.indexOf("=");
    const name = equals === -1 ? "TYPE" : part.slice(0, equals).toUpperCase();
    const values = (part.slice(equals + 1).match(/"[^"]*"|[^",]+/g) ?? []).map((each) => each.replaceAll('"', ""));
    parameters.set(name, [...(parameters.get(name) ?? []), ...values]);
  }
  return {
    name: written.slice(dot + 1).toUpperCase(),
    group: written.slice(0, Math.max(0, dot)),
    parameters,
    value: decodedValue(value, parameters),
  };
}

function decodedValue(value: string, parameters: ReadonlyMap<string, readonly string[]>): string {
  const isQuoted =
    parameters.get("ENCODING")?.[0]?.toUpperCase() === "QUOTED-PRINTABLE" ||
    parameters.get("TYPE")?.some((type) => type.toUpperCase() === "QUOTED-PRINTABLE") === true;
  if (!isQuoted) return value;
  const bytes: number[] = [];
  for (let at = 0; at < value.length; at++) {
    const hex = value[at] === "=" ? Number.parseInt(value.slice(at + 1, at + 3), 16) : Number.NaN;
    if (Number.isNaN(hex)) bytes.push(...Buffer.from(value[at] ?? ""));
    else {
      bytes.push(hex);
      at += 2;
    }
  }
  try {
    return new TextDecoder((parameters.get("CHARSET")?.[0] ?? "utf-8") as Bun.Encoding).decode(Uint8Array.from(bytes));
  } catch {
    return Buffer.from(bytes).toString("utf8"); // the character set is unknown
  }
}
