// Writes the superscripts and subscripts of a Markdown line, which are HTML elements, in the notation of scripts.ts.

import { subscript, superscript } from "../scripts.ts";

/** Matches an element with a short text, possibly within a link. */
const SCRIPT = /<(sup|sub)>([^<>]{1,80}|<a\b[^<>]{0,500}>[^<>]{1,80}<\/a>)<\/\1>/gi;
/** A link to a note: in Markdown, or as an element. */
const LINK = /^(?:\[([^\][]{1,80})\]\([^()\s]{0,500}\)|<a\b[^<>]*>([^<>]*)<\/a>)$/i;
const CODE = /(`+[^`]*`+)/;
/** Number of UTF-16 code units that are considered beside a script. */
const BESIDE_UNITS = 80;

/** The line with its scripts written as text. Inline code stays as it is. */
export function withScripts(line: string): string {
  if (!/<su[pb]>/i.test(line)) return line;
  return line
    .split(CODE)
    .map((part, at) => (at % 2 === 1 ? part : written(part)))
    .join("");
}

function written(text: string): string {
  let result = "";
  let from = 0;
  for (const match of text.matchAll(SCRIPT)) {
    const [whole, name = "", content = ""] = match;
    result += text.slice(from, match.index);
    from = match.index + whole.length;
    const link = LINK.exec(content.trim());
    const script = link === null ? content : (link[1] ?? link[2] ?? "");
    const before = result.slice(-BESIDE_UNITS).replace(/^.*[|*_]/s, "");
    const after = text.slice(from, from + BESIDE_UNITS).replace(/[<|*_].*$/s, "");
    const isNote = link !== null;
    result +=
      name.toLowerCase() === "sub"
        ? subscript(script, { before, after })
        : superscript(script, { before, after, isNote });
  }
  return result + text.slice(from);
}
