// Reads an HTML page: its content as Markdown, and its title. This file decides how many passes are made over the page
// and which one is used; page-reader.ts reads the elements.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure, UnreadPictures } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, type ReadingLimits } from "../budget.ts";
import type { ReadDocument } from "../document.ts";
import { noPictures, type PictureTexts } from "../recognition.ts";
import { onOneLine, TextWriter } from "../text-writer.ts";
import { ElementStack } from "./element-stack.ts";
import { readMarkup } from "./markup.ts";
import { PageReader } from "./page-reader.ts";
import { numbered, type PictureIds } from "./pictures.ts";
import type { Scope } from "./visibility.ts";

/**
 * Minimum share of the text outside links that must have been read. If the share is smaller, the skipped text is the
 * content of the page, and it is read in another pass.
 */
const CONTENT_SHARE_MIN = 0.25;

/** Matches a character that separates the title of a page from the name of its site. */
const SEPARATOR = /[-|–—·•:»«›‹/]/;

/** The result of one pass over a page. */
interface Pass {
  readonly writer: TextWriter;
  readonly reader: PageReader;
  /** Text of the `title` element; empty if there is none. */
  readonly title: string;
}

/**
 * Reads a page. Takes time and memory that are linear in its length, up to the limits. Never throws because of the
 * content.
 * @param pieces their concatenation is the page
 * @param pictures texts of the pictures that the page contains; by default, they are left out
 */
export function readHtml(
  pieces: Iterable<string>,
  limits: ReadingLimits = READING_LIMITS,
  pictures: PictureTexts = noPictures(),
): ReadDocument | ReadFailure {
  const read = readPageText(pieces, { limits, pictures, pictureIds: numbered });
  const { missing } = pictures;
  if (missing.length > 0) return new UnreadPictures(missing);
  if (read instanceof ReadFailure) return read;
  const warnings = pictures.pictureWarnings();
  return warnings.length === 0 ? read : { ...read, warnings };
}

/** How a page is read. */
export interface PageOptions {
  readonly limits: ReadingLimits;
  /** Texts of the pictures. It notes pictures whose text is not known. */
  readonly pictures: PictureTexts;
  /** Makes the ids of the pictures, for each pass over the page. */
  readonly pictureIds: () => PictureIds;
}

/** Reads a page as `readHtml` does, but leaves pictures whose text is not known to the caller. */
export function readPageText(pieces: Iterable<string>, options: PageOptions): ReadDocument | ReadFailure {
  const page = [...pieces];
  return outcomeOf(() => {
    const content = readPage(page, "content", options);
    const { shownUnits, lostUnits } = content.reader;
    const isEnough = shownUnits > 0 && shownUnits >= (shownUnits + lostUnits) * CONTENT_SHARE_MIN;
    const pass = isEnough ? content : readMore(page, options);
    const title = titleOf(pass.title, pass.reader.heading ?? "");
    return pass.writer.document(title === "" ? null : shortTitle(title));
  });
}

/** Reads the text of a page that has hardly any content; deleted text only if it has no other. */
function readMore(page: readonly string[], options: PageOptions): Pass {
  const pass = readPage(page, "undeleted", options);
  return pass.reader.shownUnits > 0 ? pass : readPage(page, "everything", options);
}

function readPage(page: readonly string[], scope: Scope, { limits, pictures, pictureIds }: PageOptions): Pass {
  const budget = new Budget(limits);
  const writer = new TextWriter(budget);
  const reader = new PageReader(writer, budget, scope, pictures, pictureIds());
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

/**
 * Removes the name of the site from a title. The main heading shows which part is the title itself. If the main heading
 * is not such a part, the title stays unchanged.
 */
function titleOf(title: string, heading: string): string {
  const at = heading === "" ? -1 : title.toLowerCase().indexOf(heading.toLowerCase());
  if (at === -1) return title;
  const isSeparated =
    isSeparator(title.slice(0, at).trimEnd().at(-1)) && isSeparator(title.slice(at + heading.length).trimStart()[0]);
  return isSeparated ? heading : title;
}

function isSeparator(sign: string | undefined): boolean {
  return sign === undefined || SEPARATOR.test(sign);
}
