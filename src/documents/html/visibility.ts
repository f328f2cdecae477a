// Which elements of a page are read: what nobody sees and what is around the page's content (ways through the site, its header and
// footer, forms) is left out. Whether too much would be lost so, read-html.ts decides.

import { setOf } from "./element-stack.ts";
import type { Attributes } from "./markup.ts";

/** What is read of an element: all, nothing, or of what is around the content its main heading. */
export type Shown = "all" | "heading" | "nothing";

/** Where an element stands. */
export interface Surroundings {
  /** Inside `article`, `main` or `section`. */
  readonly isContent: boolean;
  readonly isHeading: boolean;
  readonly isQuote: boolean;
}

/** How much of a page is read: its content, or everything that is text. */
export type Scope = "content" | "everything";

/** Never text that a page says, in whatever mode; `style` and `script` stand here for those inside SVG. */
const NEVER = setOf("script style");
/** Text that is not shown, or not by itself: alternatives, drawings, choices of a form. */
const UNSEEN = setOf(
  "applet audio button canvas datalist head input meter noscript object optgroup option progress rp select svg textarea video",
);
const AROUND = setOf("nav search");
const ROLES_AROUND = setOf("navigation search");
const DISPLAY_NONE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!\s*important\s*)?(?:;|$)/i;
/** Formulas of Wikipedia: their text is hidden, their picture shown. */
const HIDDEN_FORMULA = /^mwe-math-/;
/** Links back from notes; of wikis: what editors see, menus, marks of references. */
const CLASSES_AROUND = setOf(
  "after-portlet catlinks footnote-back footnote-backref mw-cite-backlink mw-editsection mw-indicators mw-jump-link mw-portlet mw-redirectedfrom navbar navbox noprint penicon printfooter",
);
/** Links that jump over what is around the content; tables of contents, whose lines are the page's headings. */
const JUMPS = /^(?:skip-?(?:to|link|nav)|toc$|table-?of-?contents$)/;
const MARK_OF_REFERENCE = "reference";
const IDS_AROUND = setOf("onetrust-consent-sdk onetrust-banner-sdk cybotcookiebotdialog usercentrics-root didomi-host");
const COOKIES = /^(?:cookies?|gdpr)[-_]?(?:banner|notice|consent|bar|popup|message|modal|dialog|overlay)$/;

/** What is read of an element; it says nothing about elements inside it. */
export function shownOf(name: string, attributes: Attributes, around: Surroundings, scope: Scope): Shown {
  if (NEVER.has(name)) return "nothing";
  if (scope === "everything") return "all";
  if (isUnseen(name, attributes, around)) return "nothing";
  if (AROUND.has(name) || ROLES_AROUND.has(attributes.role ?? "")) return "nothing";
  if (isAround(name, attributes)) return "nothing";
  const { isContent, isQuote } = around;
  if (attributes.role === "banner") return "heading";
  if (attributes.role === "contentinfo") return "nothing";
  if (isContent) return "all";
  if (name === "header") return "heading";
  if (name === "aside" || attributes.role === "complementary" || (name === "footer" && !isQuote)) return "nothing";
  return "all";
}

/** Whether the text of an element counts where it is left out: ways through a site are links, and choices no text of a page. */
export function isMissed(name: string): boolean {
  return name !== "a" && name !== "template" && !UNSEEN.has(name);
}

function isUnseen(name: string, attributes: Attributes, { isHeading }: Surroundings): boolean {
  // headings that unfold what is below them are buttons
  if (UNSEEN.has(name)) return !(name === "button" && isHeading);
  if (name === "template") return attributes.shadowrootmode === undefined;
  if (name === "dialog") return attributes.open === undefined;
  if (attributes.hidden !== undefined && attributes.hidden.trim().toLowerCase() !== "until-found") return true;
  if (attributes["aria-hidden"]?.trim().toLowerCase() === "true") return true;
  return attributes.style !== undefined && DISPLAY_NONE.test(attributes.style) && !isFormula(attributes);
}

function isFormula(attributes: Attributes): boolean {
  return attributes.class !== undefined && classesOf(attributes).some((each) => HIDDEN_FORMULA.test(each));
}

function isAround(name: string, attributes: Attributes): boolean {
  const id = attributes.id?.toLowerCase() ?? "";
  if (id !== "" && (IDS_AROUND.has(id) || COOKIES.test(id) || JUMPS.test(id))) return true;
  if (attributes.role === "doc-backlink") return true;
  if (attributes.class === undefined) return false;
  return classesOf(attributes).some(
    (each) =>
      CLASSES_AROUND.has(each) ||
      COOKIES.test(each) ||
      JUMPS.test(each) ||
      (name === "sup" && each === MARK_OF_REFERENCE),
  );
}

function classesOf({ class: classes }: Attributes): string[] {
  return (classes ?? "").toLowerCase().split(/\s+/);
}
