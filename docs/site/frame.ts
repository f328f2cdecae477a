// The HTML around the content of each page: search, navigation, links to the previous and the next page. It has no inline
// scripts or styles, so that the server can forbid them.

import { type GuidePage, PAGES, SECTIONS } from "./contents.ts";
import { relative } from "./links.ts";
import type { PageParts } from "./render.ts";

/** Names of the files that each page loads. */
export interface SiteFiles {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
}

/** The whole HTML of a page. */
export function framed(page: GuidePage, content: string, { title, headings }: PageParts, files: SiteFiles): string {
  const to = (address: string) => escaped(relative(page, address));
  const navigation = SECTIONS.map(({ title: section, pages }) => {
    const items = pages.map((each) => {
      const current = each === page ? ' aria-current="page"' : "";
      return `<li><a href="${to(each.address)}"${current}>${escaped(each.name)}</a></li>`;
    });
    return `<h2>${escaped(section)}</h2>\n<ul>${items.join("\n")}</ul>`;
  }).join("\n");
  const contents = headings.map(({ id, text }) => `<li><a href="#${id}">${escaped(text)}</a></li>`).join("\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Mneme</title>
<link rel="icon" href="${to(files.icon)}" type="image/svg+xml">
<link rel="stylesheet" href="${to(files.style)}">
<script src="${to(files.script)}" defer></script>
</head>
<body data-root="${escaped(relative(page, ".") || ".")}">
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="${to("index.html")}">Mneme</a>
<div class="search" role="search">
<input type="search" id="search" placeholder="Search the guide" aria-label="Search the guide" autocomplete="off" hidden>
<div id="found" aria-live="polite" hidden></div>
</div>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages"><details class="menu"><summary>Pages</summary>
${navigation}</details></nav>
<main id="content">
${content}
${neighbours(page)}
</main>
${headings.length < 3 ? "" : `<nav class="headings" aria-label="On this page"><h2>On this page</h2><ul>${contents}</ul></nav>`}
</div>
</body>
</html>
`;
}

/** Links to the pages before and after, in the order of the navigation. */
function neighbours(page: GuidePage): string {
  const at = PAGES.indexOf(page);
  const shown = SECTIONS.reduce((count, { pages }) => count + pages.length, 0);
  if (at >= shown) return "";
  const link = (other: GuidePage | undefined, rel: "prev" | "next") => {
    if (other === undefined) return "";
    const name = escaped(other.name);
    const text = rel === "prev" ? `← ${name}` : `${name} →`;
    return `<a rel="${rel}" href="${escaped(relative(page, other.address))}">${text}</a>`;
  };
  const next = at + 1 < shown ? PAGES[at + 1] : undefined;
  return `<nav class="neighbours" aria-label="Neighbouring pages">${link(PAGES[at - 1], "prev")}
${link(next, "next")}</nav>`;
}

/** A text as HTML. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
