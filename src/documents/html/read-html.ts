// What an HTML page says: its content as Markdown, and its title. This file is control: which passes are made over the page, and
// whether what they leave is enough. What tags, elements and blocks are is the business of its neighbours.

import { shortTitle } from "../../domain/title.ts";
import type { ReadFailure } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, type ReadingLimits } from "../budget.ts";
import type { ReadDocument } from "../document.ts";
import { onOneLine, TextWriter } from "../text-writer.ts";
import { ElementStack } from "./element-stack.ts";
import { readMarkup } from "./markup.ts";
import { PageReader } from "./page-reader.ts";
import type { Scope } from "./visibility.ts";

/** Of the text that is no link: the share that has to be content. With less, what was left out is what the page says. */
const CONTENT_SHARE_MIN = 0.25;

/** What stands between a page's title and its site's name. */
const SEPARATOR = /[-|–—·•:»«›‹/]/;

/** What one pass over a page found. */
interface Pass {
  readonly writer: TextWriter;
  readonly reader: PageReader;
  /** What the page's `title` says; empty without one. */
  readonly title: string;
}

/**
 * Reads a page. Time and memory grow with its length, up to the limits. Never throws because of what is in the page.
 * @param pieces put together they are the page
 */
export function readHtml(pieces: Iterable<string>, limits: ReadingLimits = READING_LIMITS): ReadDocument | ReadFailure {
  const page = [...pieces];
  return outcomeOf(() => {
    const content = passOver(page, "content", limits);
    const { shownUnits, lostUnits } = content.reader;
    const isEnough = shownUnits > 0 && shownUnits >= (shownUnits + lostUnits) * CONTENT_SHARE_MIN;
    const pass = isEnough ? content : passOver(page, "everything", limits);
    const title = titleOf(pass.title, pass.reader.heading ?? "");
    return pass.writer.document(title === "" ? null : shortTitle(title));
  });
}

function passOver(page: readonly string[], scope: Scope, limits: ReadingLimits): Pass {
  const budget = new Budget(limits);
  const writer = new TextWriter(budget);
  const reader = new PageReader(writer, budget, scope);
  const elements = new ElementStack(reader);
  let title = "";
  readMarkup(
    page,
    {
      open: (name, attributes, isSelfClosing) => elements.open(name, attributes, isSelfClosing),
      close: (name) => elements.close(name),
      text: (text) => reader.text(text),
      title: (text) => {
        title ||= onOneLine(text);
      },
      isForeign: () => elements.isForeign(),
    },
    () => budget.checkTime(),
  );
  elements.closeAll();
  reader.end();
  return { writer, reader, title };
}

/** The title without the name of its site, where the main heading tells which part of it that is. */
function titleOf(title: string, heading: string): string {
  const at = heading === "" ? -1 : title.toLowerCase().indexOf(heading.toLowerCase());
  if (at === -1) return title;
  const isApart =
    isSetApart(title.slice(0, at).trimEnd().at(-1)) && isSetApart(title.slice(at + heading.length).trimStart()[0]);
  return isApart ? heading : title;
}

function isSetApart(sign: string | undefined): boolean {
  return sign === undefined || SEPARATOR.test(sign);
}
