// Writes equations of Office (OMML, ECMA-376-1, 22.1) on one line, similar to Unicode's linear format (UTN 28): x^2,
// (a+b)/c. html/math.ts writes those of MathML in the same form.

import type { Attributes } from "./xml.ts";

/**
 * Maximum length of an equation that is formatted, in UTF-16 code units. Of a longer equation only the characters are
 * written, without formatting.
 */
const UNITS_MAX = 20_000;

/** An element of an equation. */
export interface EquationNode {
  readonly name: string;
  /** Property values by name. */
  readonly properties: Map<string, string>;
  /** Names and texts of the children, in order. */
  readonly parts: { readonly name: string; readonly text: string }[];
}

/** Reads the content of one `m:oMath` element. */
export class EquationReader {
  readonly #stack: EquationNode[] = [{ name: "m:oMath", properties: new Map(), parts: [] }];
  readonly #plain: string[] = [];
  #units = 0;
  #isText = false;

  open(name: string, attributes: Attributes): "skip" | undefined {
    // skips character formatting and deleted text
    if (name === "w:rPr" || name === "a:rPr" || name === "m:rPr" || name === "w:del" || name === "w:moveFrom")
      return "skip";
    this.#isText = name === "m:t" || name === "w:t";
    const value = attributes.val;
    const above = this.#stack.at(-1);
    if (value !== undefined && above?.name.endsWith("Pr")) above.properties.set(name.slice(2), value);
    this.#stack.push({ name, properties: new Map(), parts: [] });
    return undefined;
  }

  text(text: string): void {
    if (!this.#isText) return;
    this.#plain.push(text);
    this.#units += text.length;
    if (this.#units <= UNITS_MAX) this.#stack.at(-1)?.parts.push({ name: "text", text });
  }

  /** @returns whether this was the end of the whole equation */
  close(): boolean {
    this.#isText = false;
    const above = this.#stack.at(-2);
    const node = above === undefined ? undefined : this.#stack.pop();
    if (node === undefined || above === undefined) return true;
    if (node.name.endsWith("Pr")) for (const [key, value] of node.properties) above.properties.set(key, value);
    else above.parts.push({ name: node.name, text: linear(node) });
    return false;
  }

  /** The equation on one line, after its end. */
  result(): string {
    const text = this.#units > UNITS_MAX ? this.#plain.join("") : this.#stack.map(linear).join("");
    return text.replace(/\s+/g, " ").trim();
  }
}

/** The element on one line. */
export function linear(node: EquationNode): string {
  const all = (name: string) => node.parts.filter((part) => part.name === name).map(({ text }) => text);
  const one = (name: string) => all(name).join("");
  const base = one("m:e");
  switch (node.name) {
    case "m:f": {
      // a fraction without a bar is a binomial coefficient
      const sign = node.properties.get("type") === "noBar" ? "¦" : "/";
      return grouped(one("m:num")) + sign + grouped(one("m:den"));
    }
    case "m:sSup":
      return `${grouped(base)}^${grouped(one("m:sup"))}`;
    case "m:sSub":
      return `${grouped(base)}_${grouped(one("m:sub"))}`;
    case "m:sSubSup":
      return `${grouped(base)}_${grouped(one("m:sub"))}^${grouped(one("m:sup"))}`;
    case "m:sPre":
      return `_${grouped(one("m:sub"))}^${grouped(one("m:sup"))} ${base}`;
    case "m:rad": {
      const degree = one("m:deg");
      return degree === "" ? `√(${base})` : `√(${degree}&${base})`;
    }
    case "m:nary": {
      const [from, to] = [one("m:sub"), one("m:sup")];
      const bounds = (from === "" ? "" : `_${grouped(from)}`) + (to === "" ? "" : `^${grouped(to)}`);
      return `${node.properties.get("chr") ?? "∫"}${bounds} ${base}`;
    }
    case "m:d": {
      const [begin, separator, end] = [
        ["begChr", "("] as const,
        ["sepChr", "|"] as const,
        ["endChr", ")"] as const,
      ].map(([key, usual]) => node.properties.get(key) ?? usual);
      return `${begin}${all("m:e").join(separator)}${end}`;
    }
    case "m:func":
      return ` ${one("m:fName").trim()} ${base} `;
    case "m:limLow":
      return `${base}_${grouped(one("m:lim"))}`;
    case "m:limUpp":
      return `${base}^${grouped(one("m:lim"))}`;
    case "m:acc":
      return `${grouped(base)}${node.properties.get("chr") ?? "\u0302"}`;
    case "m:m":
      return `[${all("m:mr").join("; ")}]`;
    case "m:mr":
      return all("m:e").join(", ");
    case "m:eqArr":
      return all("m:e").join("; ");
    default:
      return inRow(node.parts);
  }
}

/**
 * Joins parts of an equation. Inserts a space where the next part could be mistaken for a part of the superscript,
 * subscript or fraction before it, and where a number before it would continue.
 */
function inRow(parts: EquationNode["parts"]): string {
  let row = "";
  for (const [at, { name, text }] of parts.entries()) {
    const isOpen = OPEN_ENDED.has(parts[at - 1]?.name ?? "") && /^[\p{L}\p{N}]/u.test(text);
    const isMixed = OPEN_ENDED.has(name) && /^\p{N}/u.test(text) && /\p{N}$/u.test(row);
    row += isOpen || isMixed ? ` ${text}` : text;
  }
  return row;
}

const OPEN_ENDED = new Set(["m:f", "m:sSup", "m:sSub", "m:sSubSup", "m:sPre"]);

/** Adds parentheses around a text, unless it is a single number or name, or already has parentheses. */
function grouped(text: string): string {
  const term = text.trim();
  return /^(?:[\p{L}\p{N}\p{M}.,∞′']*|.|\([^()]*\))$/su.test(term) ? term : `(${term})`;
}
