// Decides which elements of a page are read. Skips elements that are not visible, and elements around the content:
// navigation, header and footer of the site, forms. read-html.ts checks whether too much was skipped.

import { isNote } from "./attribute-values.ts";
import { setOf } from "./element-stack.ts";
import type { Attributes } from "./markup.ts";

/** Which part of an element is read: all, nothing, or only the main heading inside it. */
export type Visibility = "all" | "heading" | "nothing";

/** The elements around an element. */
export interface Surroundings {
  /** Whether the element is inside `article`, `main` or `section`. */
  readonly isContent: boolean;
  readonly isHeading: boolean;
  readonly isQuote: boolean;
  /** Whether the element is inside a form. */
  readonly isForm: boolean;
  /** Whether the element is the panel of a tab that was read. */
  readonly isPanel: boolean;
}

/** How much of a page is read: its content, all text that is not deleted, or all text. */
export type Scope = "content" | "undeleted" | "everything";

/**
 * Deleted text. `s` and `strike` mean the same: what is no longer accurate or relevant (HTML, 4.5.5), such as a former
 * price. Inserted text is read.
 */
const DELETED = setOf("del s strike");
const STRUCK = /(?:^|;)\s*text-decoration(?:-line)?\s*:[^;]*\bline-through\b/i;
/** Classes of panels that a tab or the heading of an accordion shows. */
const PANEL =
  /^(?:tabs?[-_]{0,2}(?:pane|panel|content|body)|accordion[-_]{0,2}(?:panel|content|body|collapse)|panel-collapse|collapsible-content)$/;
/** Classes of buttons that show and hide the element behind them. */
const TOGGLE =
  /(?:^|\s)(?:accordion|collapsible|expandable)(?:[-_]{1,2}(?:header|button|toggle|title|trigger))?(?=\s|$)/i;
const PANEL_ROLES = setOf("tabpanel region");
/** Elements that are never read. The tokeniser skips `style` and `script` in HTML, but not inside SVG. */
const NEVER = setOf("script style");
/** Elements whose text is never shown, or only after an interaction: fallbacks, drawings, suggestions. */
const HIDDEN = setOf("applet audio canvas datalist head noscript object rp svg video");
const AROUND = setOf("nav search");
const ROLES_AROUND = setOf("navigation search");
const DISPLAY_NONE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!\s*important\s*)?(?:;|$)/i;
/** Formulas in Wikipedia, which have a hidden text and a visible picture. The text is read nevertheless. */
const HIDDEN_FORMULA = /^mwe-math-/;
/** Classes of links from notes back to the text, and of editing links, menus and reference marks of wikis. */
const CLASSES_AROUND = setOf(
  "after-portlet catlinks footnote-back footnote-backref mw-cite-backlink mw-editsection mw-indicators mw-jump-link mw-portlet mw-redirectedfrom navbar navbox noprint penicon printfooter",
);
/** Matches ids of links that skip to the content, and of tables of contents, which repeat the headings of the page. */
const SKIP_LINKS = /^(?:skip-?(?:to|link|nav)|toc$|table-?of-?contents$)/;
const MARK_OF_REFERENCE = "reference";
const IDS_AROUND = setOf("onetrust-consent-sdk onetrust-banner-sdk cybotcookiebotdialog usercentrics-root didomi-host");
const COOKIES = /^(?:cookies?|gdpr)[-_]?(?:banner|notice|consent|bar|popup|message|modal|dialog|overlay)$/;

/** Decides which part of an element is read, whatever elements are inside it. */
export function visibilityOf(
  name: string,
  attributes: Attributes,
  surroundings: Surroundings,
  scope: Scope,
): Visibility {
  if (NEVER.has(name)) return "nothing";
  if (scope === "everything") return "all";
  if (DELETED.has(name) || (attributes.style !== undefined && STRUCK.test(attributes.style))) return "nothing";
  if (scope === "undeleted") return "all";
  if (isHidden(name, attributes, surroundings)) return "nothing";
  if (isNote(attributes)) return "all";
  if (AROUND.has(name) || ROLES_AROUND.has(attributes.role ?? "")) return "nothing";
  if (isAround(name, attributes)) return "nothing";
  const { isContent, isQuote } = surroundings;
  if (attributes.role === "banner") return "heading";
  if (attributes.role === "contentinfo") return "nothing";
  if (isContent) return "all";
  if (name === "header") return "heading";
  if (name === "aside" || attributes.role === "complementary" || (name === "footer" && !isQuote)) return "nothing";
  return "all";
}

/**
 * Whether the skipped text of an element may be content. The text of links is not, because navigation consists of
 * links; neither are form choices.
 */
export function mayBeContent(name: string): boolean {
  return name !== "a" && name !== "button" && name !== "option" && name !== "template" && !HIDDEN.has(name);
}

function isHidden(name: string, attributes: Attributes, { isHeading, isForm, isPanel }: Surroundings): boolean {
  // a button in a heading shows the text below it, and a tab its panel; the label of a button in a text belongs to the
  // text (flow.ts), but the buttons of a form only send it
  if (name === "button") return isForm && !isHeading && !isTab(attributes);
  if (HIDDEN.has(name)) return true;
  if (name === "option") return attributes.selected === undefined;
  if (name === "template") return attributes.shadowrootmode === undefined;
  if (name === "dialog") return attributes.open === undefined;
  if (isPanel || isPanelOf(attributes)) return false;
  if (attributes.hidden !== undefined && attributes.hidden.trim().toLowerCase() !== "until-found") return true;
  if (attributes["aria-hidden"]?.trim().toLowerCase() === "true") return true;
  return attributes.style !== undefined && DISPLAY_NONE.test(attributes.style) && !isFormula(attributes);
}

/** Whether an element is a tab or the head of a collapsed part, whose label is read. */
export function isTab({ role, class: classes }: Attributes): boolean {
  return role?.trim().toLowerCase() === "tab" || TOGGLE.test(classes ?? "");
}

/** Whether a button shows and hides the element behind it. */
export function isToggle({ class: classes }: Attributes): boolean {
  return TOGGLE.test(classes ?? "");
}

/** Whether an element is a panel that a tab or an accordion shows and hides. */
function isPanelOf(attributes: Attributes): boolean {
  const role = attributes.role?.trim().toLowerCase();
  if (role !== undefined && role !== "") {
    return PANEL_ROLES.has(role) && (role === "tabpanel" || attributes["aria-labelledby"] !== undefined);
  }
  return attributes.class !== undefined && classesOf(attributes).some((each) => PANEL.test(each));
}

function isFormula(attributes: Attributes): boolean {
  return attributes.class !== undefined && classesOf(attributes).some((each) => HIDDEN_FORMULA.test(each));
}

function isAround(name: string, attributes: Attributes): boolean {
  const id = attributes.id?.toLowerCase() ?? "";
  if (id !== "" && (IDS_AROUND.has(id) || COOKIES.test(id) || SKIP_LINKS.test(id))) return true;
  if (attributes.role === "doc-backlink") return true;
  if (attributes.class === undefined) return false;
  return classesOf(attributes).some(
    (each) =>
      CLASSES_AROUND.has(each) ||
      COOKIES.test(each) ||
      SKIP_LINKS.test(each) ||
      (name === "sup" && each === MARK_OF_REFERENCE),
  );
}

function classesOf({ class: classes }: Attributes): string[] {
  return (classes ?? "").toLowerCase().split(/\s+/);
}
