// Writes formulas of MathML (MathML Core) on one line, in the same form as equations of Office: 1/2, x^3, √(2).

import { type EquationNode, linear } from "../office/equation.ts";

/**
 * Maximum length of a formula that is written in this form, in UTF-16 code units. Of a longer one only the characters
 * are written.
 */
const UNITS_MAX = 20_000;
/** Characters that are never shown: function application, invisible operators. */
const INVISIBLE = /[\u2061-\u2064]/g;

/** Elements of equations of Office that mean the same, and what their children are, in order. */
const KINDS: Readonly<Record<string, readonly [name: string, ...children: readonly string[]]>> = {
  mfrac: ["m:f", "m:num", "m:den"],
  msup: ["m:sSup", "m:e", "m:sup"],
  msub: ["m:sSub", "m:e", "m:sub"],
  msubsup: ["m:sSubSup", "m:e", "m:sub", "m:sup"],
  munder: ["m:limLow", "m:e", "m:lim"],
  munderover: ["m:sSubSup", "m:e", "m:sub", "m:sup"],
  mmultiscripts: ["m:sSubSup", "m:e", "m:sub", "m:sup"],
  mroot: ["m:rad", "m:e", "m:deg"],
};

/** Whether an element repeats its formula in another form, which is not read. */
export function isFormulaNote(name: string): boolean {
  return name === "annotation" || name === "annotation-xml";
}

/** Reads the elements within one `math` element. */
export class MathReader {
  readonly #stack: EquationNode[] = [node("math")];
  readonly #plain: string[] = [];
  #units = 0;

  open(name: string): void {
    this.#stack.push(node(name));
  }

  text(text: string): void {
    const shown = text.replace(INVISIBLE, "").replace(/\s+/g, " ");
    this.#plain.push(shown);
    this.#units += shown.length;
    const above = this.#stack.at(-1);
    // white space between elements has no meaning
    const isToken = above !== undefined && /^(?:m[inos]|mtext|ms)$/.test(above.name);
    if (this.#units > UNITS_MAX || !(isToken || shown.trim() !== "")) return;
    above?.parts.push({ name: "text", text: above.name === "mtext" ? shown : shown.trim() });
  }

  close(): void {
    const closed = this.#stack.length > 1 ? this.#stack.pop() : undefined;
    const above = this.#stack.at(-1);
    if (closed !== undefined && above !== undefined) above.parts.push(written(closed));
  }

  /** The formula on one line, after its end. */
  result(): string {
    while (this.#stack.length > 1) this.close();
    const text = this.#units > UNITS_MAX ? this.#plain.join("") : this.#stack.map(linear).join("");
    return text.replace(/\s+/g, " ").trim();
  }
}

function node(name: string): EquationNode {
  return { name, properties: new Map(), parts: [] };
}

/** The element as a part of the one around it. */
function written({ name, parts }: EquationNode): EquationNode["parts"][number] {
  const [kind, ...children] = KINDS[name] ?? [];
  const properties = new Map<string, string>();
  if (kind !== undefined) {
    const named = parts.slice(0, children.length).map(({ text }, at) => ({ name: children[at] ?? "", text }));
    return { name: kind, text: linear({ name: kind, properties, parts: named }) };
  }
  const row = { name: "m:e", text: linear({ name: "row", properties, parts }) };
  switch (name) {
    case "msqrt":
      return { name: "m:rad", text: linear({ name: "m:rad", properties, parts: [row] }) };
    case "mtd":
      return row;
    case "mtr":
    case "mlabeledtr":
      return { name: "m:mr", text: linear({ name: "m:mr", properties, parts }) };
    case "mtable":
      return { name: "m:m", text: linear({ name: "m:m", properties, parts }) };
    case "mfenced":
      return { name: "m:d", text: `(${parts.map(({ text }) => text).join(", ")})` };
    case "mover": {
      const [base = "", accent = ""] = parts.map(({ text }) => text);
      // a bar or an arrow above a name has no meaning of its own
      return { name, text: /^[\p{L}\p{N}]/u.test(accent) ? `${base}^(${accent})` : base };
    }
    case "mphantom":
      return { name, text: "" };
    default:
      return { name, text: row.text };
  }
}
