// Shows Markdown: parsed by marked, cleaned by DOMPurify. Only this file puts HTML into the page. Links open in another
// tab, HTML tags and pictures are shown as text, and a citation such as `[1]` becomes a button for its source.

import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../core/i18n.ts";

/** Maximum length of a text that is parsed, in characters. Longer texts are shown unparsed. */
const CHARACTERS_PARSED = 200_000;

// HTML tags and pictures are shown as text: memories may come from strangers, and loading a picture would tell another
// host about the reader.
const marked = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ raw }) => escaped(raw),
  },
});
const purifier = DOMPurify();

purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Converts Markdown to HTML that runs no code and loads nothing. */
function safeHtml(text: string): string {
  const html = marked.parse(text) as string;
  return purifier.sanitize(html, {
    ALLOWED_TAGS: [
      ...["p", "br", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "a", "h1", "h2", "h3"],
      ...["h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"],
    ],
    ALLOWED_ATTR: ["href", "start", "align"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  });
}

interface MarkdownProps {
  readonly text: string;
  /** Called with the number of a clicked citation such as `[1]`. Without it, citations stay text. */
  readonly onCitation?: ((number: number) => void) | undefined;
  readonly isBusy?: boolean | undefined;
}

/** A Markdown text. */
export default function Markdown({ text, onCitation, isBusy }: MarkdownProps) {
  const element = useRef<HTMLDivElement>(null);
  const isLong = text.length > CHARACTERS_PARSED;
  const html = useMemo(() => (isLong ? "" : safeHtml(text)), [text, isLong]);
  useEffect(() => {
    const root = element.current;
    if (root === null || isLong) return;
    for (const block of root.querySelectorAll("p, li, h1, h2, h3, h4, h5, h6, td, th, blockquote"))
      block.setAttribute("dir", "auto");
    if (onCitation !== undefined) markCitations(root, onCitation);
  }, [html, isLong, onCitation]);
  if (isLong) return <pre class="plain-text">{text}</pre>;
  return (
    <div
      class="markdown"
      dir="auto"
      ref={element}
      aria-busy={isBusy || undefined}
      dangerouslySetInnerHTML={{ __html: html }}
    />
  );
}

// Replaces `[1]` in texts by buttons, except in code and links.
function markCitations(root: HTMLElement, onCitation: (number: number) => void): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node as Text;
    if (/\[\d+\]/.test(text.data) && text.parentElement?.closest("code, pre, a, button") === null) found.push(text);
  }
  for (const node of found) {
    const pieces = node.data.split(/\[(\d+)\]/).map((piece, at) => {
      if (at % 2 === 0) return piece;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "citation";
      button.textContent = piece;
      button.setAttribute("aria-label", t("Source {n}", { n: piece }));
      button.addEventListener("click", () => onCitation(Number(piece)));
      return button;
    });
    node.replaceWith(...pieces);
  }
}
