// Reads comments on slides: the older form (ECMA-376-1, 19.4) and the newer threads ([MS-PPTX] 2.1.12).

import { commentText, onOneLine } from "../text-writer.ts";
import { DrawingText, lineOf } from "./drawing-text.ts";
import type { OfficePackage, Relationship } from "./package.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/**
 * Names of comment authors by id. The older and the newer form of comments have different ids.
 * @throws ReadFailure if a part is damaged
 */
export function readAuthors(document: OfficePackage, related: readonly Relationship[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const handler: XmlHandler = {
    open: (name, { id, name: author = "" }) => {
      if ((name === "p:cmAuthor" || name === "p188:author") && id !== undefined) names.set(id, onOneLine(author));
      return undefined;
    },
    close: () => undefined,
    text: () => undefined,
  };
  for (const { type, target } of related) {
    if (type === "commentauthors" || type === "authors") document.read(target, "p", handler);
  }
  return names;
}

/** The comments of a slide as text. @throws ReadFailure if a part is damaged */
export function readComments(
  document: OfficePackage,
  related: readonly Relationship[],
  authors: ReadonlyMap<string, string>,
): string[] {
  const reader = new CommentReader(authors);
  for (const { type, target } of related) if (type === "comments") document.read(target, "p", reader);
  return reader.comments;
}

class CommentReader implements XmlHandler {
  readonly comments: string[] = [];
  /** Open comments: for each its author and its index in the list of all comments. */
  readonly #open: { readonly author: string; readonly at: number }[] = [];
  #plain: string[] | null = null;
  #text: DrawingText | null = null;

  constructor(private readonly authors: ReadonlyMap<string, string>) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#text !== null) return this.#text.open(name, attributes);
    if (isComment(name)) {
      this.#open.push({ author: this.authors.get(attributes.authorId ?? "") ?? "", at: this.comments.length });
    } else if (name === "p:text") this.#plain = [];
    else if (name === "p188:txBody") this.#text = new DrawingText();
    return undefined;
  }

  close(name: string): void {
    if (name === "p:text" && this.#plain !== null) {
      this.#end(onOneLine(this.#plain.join("")));
      this.#plain = null;
    } else if (name === "p188:txBody" && this.#text !== null) {
      this.#end(lineOf(this.#text.paragraphs));
      this.#text = null;
    } else if (this.#text !== null) this.#text.close(name);
    else if (isComment(name)) this.#open.pop();
  }

  text(text: string): void {
    this.#plain?.push(text);
    this.#text?.text(text);
  }

  #end(text: string): void {
    const { author, at } = this.#open.at(-1) ?? { author: "", at: this.comments.length };
    if (text === "") return;
    // in the file, replies precede the text of the comment that they answer
    this.comments.splice(at, 0, commentText(author, text));
  }
}

function isComment(name: string): boolean {
  return name === "p:cm" || name === "p188:cm" || name === "p188:reply";
}
