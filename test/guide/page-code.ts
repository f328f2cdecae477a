// The code of a page of the guide, made to run: its blocks in the shell, JavaScript and Python, and what they print.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/sources.ts";

/** A language whose blocks run. */
export type Language = "sh" | "js" | "python";

/** A block of code of a page. */
export interface CodeBlock {
  /** As in the fence; "" if it names none. */
  readonly language: string;
  readonly code: string;
  /** Line of the fence in the page, from 1. */
  readonly line: number;
  /** Reason of the comment `<!-- not run: … -->` above the fence; null if there is none. */
  readonly notRun: string | null;
}

/** The blocks of a page, in order. @param page path in the repository */
export function blocksOf(page: string): readonly CodeBlock[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const fences = /(?:<!-- not run: ([^>]+?) -->\n+)?^( *)```(\w*)\n(.*?)^\2```$/gms;
  return [...text.matchAll(fences)].map((match) => {
    const [whole, notRun = null, indentation = "", language = "", code = ""] = match;
    const line = text.slice(0, match.index + whole.indexOf("```")).split("\n").length;
    return { language, code: code.replaceAll(new RegExp(`^${indentation}`, "gm"), ""), line, notRun };
  });
}

const COMMENT: Readonly<Record<Language, string>> = { sh: "# ", js: "// ", python: "# " };

/**
 * What code says that it prints: comments below a line of code, as one text per line of output. A comment
 * that begins with two more spaces continues the output line before it.
 */
export function shownOutput(code: string, language: Language): readonly string[] {
  const mark = COMMENT[language];
  const shown: string[] = [];
  let isBelowCode = false;
  for (const line of code.split("\n")) {
    if (line.trim() === "") {
      isBelowCode = false;
    } else if (!line.startsWith(mark)) {
      isBelowCode = true;
    } else if (isBelowCode) {
      const text = line.slice(mark.length);
      if (text.startsWith("  ") && shown.length > 0) shown.push(`${shown.pop()} ${text.trim()}`);
      else shown.push(text);
    }
  }
  return shown;
}

/**
 * Whether an output has these lines, in this order. In a shown line, `…` stands for any text; white space does not
 * count. Returns the first line that is missing; null if all are there.
 */
export function missingLine(output: string, shown: readonly string[]): string | null {
  let rest = output.replace(/\s+/g, "");
  for (const line of shown) {
    const pattern = line
      .replace(/\s+/g, "")
      .split("…")
      // an id or number that is cut off stands for any other
      .map((part) => part.replace(/(?:(?<=\b[a-z]+_)[0-9a-z]+|(?<=\d\.)\d+)$/, ""))
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join(".*?");
    const found = new RegExp(pattern, "s").exec(rest);
    if (found === null) return line;
    rest = rest.slice(found.index + found[0].length);
  }
  return null;
}
