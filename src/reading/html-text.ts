// The text of an HTML page: what a reader of it sees, a line for each block, and its title. How it is structured is left out.

import { Parser } from "htmlparser2";

/** What a page says. */
export interface PageText {
  /** Lines, with an empty one between blocks; empty where the page shows nothing. */
  readonly text: string;
  /** What its `title` says; null without one. */
  readonly title: string | null;
}

/** Elements whose content nobody reads. */
const UNSEEN = new Set(["script", "style", "template", "noscript", "svg", "iframe", "object", "select", "title"]);
/** Elements that stand apart from what is before and after them. */
const BLOCKS = new Set(
  "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section summary table ul".split(
    " ",
  ),
);
/** Elements that begin a line. */
const LINES = new Set(["br", "li", "tr", "legend"]);
const CELLS = new Set(["td", "th"]);

/** Reads a page from its pieces, in time and memory linear in its length but for hostile nesting. */
export function textOfPage(pieces: Iterable<string>): PageText {
  const page = new PageWriter();
  const parser = new Parser({
    onopentagname: (name) => page.open(name),
    onclosetag: (name) => page.close(name),
    ontext: (text) => page.write(text),
  });
  for (const piece of pieces) parser.write(piece);
  parser.end();
  return page.result();
}

class PageWriter {
  readonly #lines: string[] = [];
  #line: string[] = [];
  #title: string[] = [];
  #unseen = 0;
  #preformatted = 0;
  #isInTitle = false;
  /** Whether blanks were read that count only if something follows them on the line. */
  #hasBlank = false;

  open(name: string): void {
    if (UNSEEN.has(name)) this.#unseen++;
    if (name === "title") this.#isInTitle = this.#title.length === 0;
    if (name === "pre") this.#preformatted++;
    this.#separate(name);
  }

  close(name: string): void {
    if (UNSEEN.has(name)) this.#unseen--;
    if (name === "title") this.#isInTitle = false;
    if (name === "pre") this.#preformatted--;
    if (!LINES.has(name)) this.#separate(name);
  }

  write(text: string): void {
    if (this.#isInTitle) this.#title.push(text);
    if (this.#unseen > 0) return;
    if (this.#preformatted > 0) {
      const [first = "", ...more] = text.split("\n");
      this.#line.push(first);
      for (const line of more) {
        this.#endLine(true);
        this.#line.push(line);
      }
      return;
    }
    for (const word of text.split(/(\s+)/)) {
      if (/^\s/.test(word)) this.#hasBlank = true;
      else if (word !== "") {
        if (this.#hasBlank && this.#line.length > 0) this.#line.push(" ");
        this.#hasBlank = false;
        this.#line.push(word);
      }
    }
  }

  result(): PageText {
    this.#endLine(false);
    const title = this.#title.join("").replace(/\s+/g, " ").trim();
    return { text: this.#lines.join("\n").trim(), title: title === "" ? null : title };
  }

  #separate(name: string): void {
    if (this.#unseen > 0) return;
    if (CELLS.has(name)) this.#hasBlank = true;
    else if (LINES.has(name)) this.#endLine(false);
    else if (BLOCKS.has(name)) {
      this.#endLine(false);
      if (this.#lines.at(-1) !== "") this.#lines.push("");
    }
  }

  #endLine(keepsEmpty: boolean): void {
    if (this.#line.length > 0 || keepsEmpty) this.#lines.push(this.#line.join("").trimEnd());
    this.#line = [];
    this.#hasBlank = false;
  }
}
