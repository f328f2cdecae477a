// What the guide adds to Markdown: ids of headings as GitHub makes them, links that lead to pages of the site, and the
// texts that the search finds. Comments of the sources, such as "not run", are left out.

import type { MarkdownState, MarkdownToken } from "@11ty/eleventy";
import type { GuidePage } from "./contents.ts";
import { siteLink } from "./links.ts";

/** A heading of the second level. */
export interface Heading {
  readonly id: string;
  readonly text: string;
}

/** A part of a page that the search finds: what stands below one heading. */
export interface SearchEntry {
  /** Title of the page. */
  readonly page: string;
  readonly heading: string;
  /** Address from the root of the site. */
  readonly address: string;
  readonly text: string;
}

/** What one page has besides its HTML. */
export interface PageParts {
  readonly title: string;
  readonly headings: readonly Heading[];
  readonly entries: readonly SearchEntry[];
  /** Files that the page links to: source by address in the site. */
  readonly copies: ReadonlyMap<string, string>;
}

/** Changes the tokens of a page for the site, and returns what else it has. */
export function preparePage(page: GuidePage, state: MarkdownState): PageParts {
  const headings: Heading[] = [];
  const entries: SearchEntry[] = [];
  const copies = new Map<string, string>();
  const ids = new Set<string>();
  let title = page.name;
  let texts: string[] = [];
  let current: { readonly heading: string; readonly address: string } = { heading: page.name, address: page.address };
  const endEntry = () => {
    const text = texts.join(" ").replace(/\s+/g, " ").trim();
    entries.push({ page: title, ...current, text });
    texts = [];
  };
  for (const [at, token] of state.tokens.entries()) {
    const content = state.tokens[at + 1];
    if (token.type === "heading_open" && content !== undefined) {
      const text = textOf(content);
      const id = headingId(text, ids);
      token.attrSet("id", id);
      if (at > 0) endEntry();
      if (token.tag === "h1") title = text;
      if (token.tag === "h2") headings.push({ id, text });
      current = { heading: text, address: token.tag === "h1" ? page.address : `${page.address}#${id}` };
    } else if (token.type === "inline") {
      if (state.tokens[at - 1]?.type !== "heading_open") texts.push(textOf(token));
      for (const child of token.children ?? []) adoptLink(page, child, copies);
    } else if (token.type === "fence" || token.type === "code_block") {
      texts.push(token.content);
    } else if (token.attrs !== null && /^t[hd]_open$/.test(token.type)) {
      // the alignment of a column is a style; the policy of the site allows classes only
      token.attrs = token.attrs.map(([name, value]) =>
        name === "style" ? ["class", value.replace(/^.*:/, "")] : [name, value],
      );
    } else if (token.type === "html_block") {
      token.content = token.content.replace(/<!--[\s\S]*?-->\n?/g, "");
    }
  }
  endEntry();
  return { title, headings, entries: entries.filter(({ text }) => text !== ""), copies };
}

/** Makes the address of a link or picture one of the site. */
function adoptLink(page: GuidePage, token: MarkdownToken, copies: Map<string, string>): void {
  const attribute = token.type === "link_open" ? "href" : token.type === "image" ? "src" : null;
  const target = attribute === null ? null : token.attrGet(attribute);
  if (attribute === null || target === null) return;
  const { href, copy } = siteLink(page, decodeURI(target));
  token.attrSet(attribute, href ?? "#");
  if (copy !== undefined) copies.set(copy.address, copy.source);
}

function textOf(token: MarkdownToken): string {
  const parts = token.children ?? [token];
  return parts.map(({ type, content }) => (type === "softbreak" ? " " : content)).join("");
}

/** The id of a heading, as GitHub makes it; a second one of the same text gets a number. */
function headingId(text: string, taken: Set<string>): string {
  const plain = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
  let id = plain;
  for (let count = 1; taken.has(id); count++) id = `${plain}-${count}`;
  taken.add(id);
  return id;
}
