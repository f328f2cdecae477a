// Reads a PDF: its text as Markdown, its title, and where its pages begin. This file defines the order of the steps and
// enforces the limits. pdfjs.ts extracts the runs of text; the other files build columns, tables, paragraphs and
// headings.

import { shortTitle } from "../../domain/title.ts";
import type { Clock } from "../../kit/clock.ts";
import { ReadFailure, UnreadPictures } from "../../ports/document-reader.ts";
import { ENCRYPTED, NO_TEXT, type ReadDocument } from "../document.ts";
import { processorClock } from "../processor-time.ts";
import { noPictures, type PictureTexts } from "../recognition.ts";
import type { PageNote } from "./annotations.ts";
import { type Block, blocksOf } from "./blocks.ts";
import { boxesApart } from "./boxes.ts";
import { regionsOf } from "./columns.ts";
import { withContinuedTables } from "./continued-tables.ts";
import { headingLevels } from "./headings.ts";
import { hasDecompressionBomb, STREAM_BYTES_MAX } from "./inflation.ts";
import { writeMarkdown } from "./markdown.ts";
import { type OpenPdf, openPdf, type PageText, PdfNotOpened } from "./pdfjs.ts";
import { asPdf, withRecognised } from "./recognised-pages.ts";
import { rowsWithCells, segmentsWithTables, withWholeRows } from "./ruled-tables.ts";
import { type LayerRows, type PageRows, runningSegments } from "./running.ts";
import { segmentsOf } from "./segments.ts";
import { tablesApart } from "./tables-beside.ts";

/** Options of `readPdf`. */
export interface PdfOptions {
  /** Called after each page. */
  readonly onProgress?: (pagesDone: number, pagesTotal: number) => void;
  /** Clock that measures the time limit; by default, it measures processor time. */
  readonly clock?: Clock;
  /** Time limit in milliseconds; 30 s by default. */
  readonly timeMsMax?: number;
  /** Texts of pages that are pictures; by default, they are left out. */
  readonly pictures?: PictureTexts;
}

/**
 * Maximum number of pages: three times as many as the longest printed documents have. A page of prose takes 5 to 10 ms,
 * so the time limit may be reached first.
 */
export const PDF_PAGES_MAX = 5_000;
/** Maximum length of the text in UTF-16 code units. Several copies of a text of this length fit into memory. */
const TEXT_UNITS_MAX = 50_000_000;
/** Maximum number of notes in a file, and of blocks of a page beside which a note may stand. */
const NOTES_MAX = 5_000;
/** Maximum number of text runs; a page of prose has about fifty. */
const RUNS_MAX = 2_000_000;
const TIME_MS_MAX = 30_000;
/**
 * Even if it uses no processor time, for example because pdf.js never answers, reading stops after this many times the
 * time limit.
 */
const IDLE_TIMES = 3;
/** Number of UTF-16 code units that are kept of a title. */
const TITLE_UNITS_MAX = 500;
/** A page with fewer letters and digits may be a picture with a stamp or a page number. */
const LETTERS_MIN = 16;

/**
 * Reads a PDF whose user password is empty. Never throws. Keeps a copy of the bytes, one page, and the text of all
 * pages in memory. Ignores XFA forms, attachments and scripts.
 */
export async function readPdf(bytes: Uint8Array, options: PdfOptions = {}): Promise<ReadDocument | ReadFailure> {
  const clock = options.clock ?? processorClock;
  const timeMsMax = options.timeMsMax ?? TIME_MS_MAX;
  const budget = new Budget(clock, timeMsMax);
  const hasImages = holdsImages(bytes);
  if (hasDecompressionBomb(bytes)) {
    return refused(
      `The file holds a part that decompresses to more than ${STREAM_BYTES_MAX / 1_000_000} MB, the limit for a part.`,
    );
  }
  // ends the waiting if pdf.js never answers
  const timer = new AbortController();
  const timeout = clock.sleep(IDLE_TIMES * timeMsMax, timer.signal).then(() => budget.tooSlow());
  // The bytes are copied, because pdf.js transfers them. The copy is made by `new Uint8Array`: pdf.js refuses a Buffer,
  // and its `slice()` does not copy.
  const opening = openPdf(new Uint8Array(bytes));
  try {
    const pdf = await Promise.race([opening, timeout]);
    if (pdf instanceof ReadFailure) return pdf;
    return await Promise.race([
      readPages(pdf, budget, hasImages ? (options.pictures ?? noPictures()) : null, options.onProgress),
      timeout,
    ]);
  } catch (cause) {
    if (cause instanceof LimitExceeded) return cause.failure;
    if (cause instanceof PdfNotOpened && cause.reason === "encrypted") {
      return refused(ENCRYPTED, cause);
    }
    if (cause instanceof PdfNotOpened) return refused("The file is damaged: it cannot be opened as a PDF.", cause);
    return new ReadFailure("processing_error", "The file could not be read: the fault is in Mneme, not in it.", {
      cause,
    });
  } finally {
    await closed(opening, timeout);
    timer.abort();
  }
}

/** Waits until the file is closed. If it is still being opened at the timeout, it is closed in the background. */
async function closed(opening: Promise<OpenPdf>, timeout: Promise<unknown>): Promise<void> {
  const closing = opening
    .then((pdf) => pdf.close())
    .then(
      () => undefined,
      // the caller has handled errors of opening, and errors of closing have no effect on the result
      () => undefined,
    );
  await Promise.race([closing, timeout]);
}

/** Lays out the recognised text of pictures, such as the pages of a TIFF. */
export async function readPictures(
  ids: readonly string[],
  pictures: PictureTexts,
): Promise<ReadDocument | ReadFailure> {
  const pages = ids.map((id) => pictures.text(id));
  const known = pages.slice(0, pages.findLastIndex((page) => page !== null) + 1);
  const { missing } = pictures;
  if (missing.length > 0) return new UnreadPictures(missing);
  const budget = new Budget(processorClock, TIME_MS_MAX);
  try {
    const text = await readPages(asPdf(known), budget, null, undefined);
    return text instanceof ReadFailure ? text : withPictures(text, pictures);
  } catch (cause) {
    if (cause instanceof LimitExceeded) return cause.failure;
    throw cause;
  }
}

/** @param pictures null if the file has none */
async function readPages(
  pdf: OpenPdf,
  budget: Budget,
  pictures: PictureTexts | null,
  onProgress: PdfOptions["onProgress"],
): Promise<ReadDocument | ReadFailure> {
  if (pdf.pageCount > PDF_PAGES_MAX) {
    const [has, most] = [pdf.pageCount, PDF_PAGES_MAX].map((count) => count.toLocaleString("en"));
    return refused(`The file has ${has} pages; at most ${most} are read. Upload it in parts.`);
  }
  const pages: PageRows[] = [];
  const losses: PageLoss[] = [];
  const notes: PlacedNote[] = [];
  for (let number = 1; number <= pdf.pageCount; number++) {
    budget.beginPage(number, pdf.pageCount);
    const { page, loss, notes: added } = await readPage(pdf, number, budget, pictures);
    notes.push(...added.map((note) => ({ ...note, page: number })));
    if (page.layers.length > 0) pages.push(page);
    if (loss !== null) losses.push({ page: number, why: loss });
    onProgress?.(number, pdf.pageCount);
  }

  const missing = pictures?.missing ?? [];
  if (missing.length > 0) return new UnreadPictures(missing);
  const blocks = withNotes(layOut(pages, budget), notes);
  const levelOf = headingLevels(
    blocks.filter((block) => block.kind === "text"),
    await optional(() => pdf.bookmarks(), []),
  );
  if (!blocks.some(isVisible)) return refused(withoutText(losses, pictures));
  const { pieces, marks } = writeMarkdown(withGapNotes(blocks, losses), levelOf);
  const titles = await optional(() => pdf.titles(), []);
  const text = { pieces, title: titles.map(usableTitle).find((title) => title !== null) ?? null, marks };
  return pictures === null ? text : withPictures(text, pictures);
}

/** Adds the confidence of pages to the marks, and warnings about them. */
function withPictures(text: ReadDocument, pictures: PictureTexts): ReadDocument {
  const warnings = pictures.pageWarnings();
  const marks = text.marks.map((mark) => {
    const confidence = pictures.confidence(String(mark.page));
    return confidence === null ? mark : { ...mark, ocrConfidence: confidence };
  });
  return { ...text, marks, ...(warnings.length > 0 && { warnings }) };
}

/** A page most of whose text could not be read. */
interface PageLoss {
  readonly page: number;
  readonly why: keyof typeof LOSSES;
}

const LOSSES = {
  damaged: { one: "is damaged and cannot be read.", several: "are damaged and cannot be read." },
  undecodable: {
    one: "cannot be read: its fonts do not say which letters they show.",
    several: "cannot be read: their fonts do not say which letters they show.",
  },
} as const;

async function readPage(
  pdf: OpenPdf,
  number: number,
  budget: Budget,
  pictures: PictureTexts | null,
): Promise<{ page: PageRows; loss: PageLoss["why"] | null; notes: readonly PageNote[] }> {
  let text: PageText;
  try {
    text = await pdf.read(number, (runs) => budget.countRuns(runs));
    if (pictures !== null && lettersOf(text) < LETTERS_MIN) {
      const picture = pictures.text(String(number));
      if (picture !== null) text = withRecognised(text, picture);
    }
  } catch (cause) {
    if (cause instanceof LimitExceeded) throw cause;
    // the other pages are still read, and a note in the text names this page
    return { page: { number, layers: [] }, loss: "damaged", notes: [] };
  }
  const rows = text.layers.map(({ runs, top, bottom }, layer): LayerRows => {
    for (const { text } of runs) budget.countUnits(text.length);
    const segments = layer === 0 ? segmentsWithTables(runs, text.rules) : segmentsOf(runs);
    return { rows: rowsWithCells(segments), top, bottom };
  });
  const page = { number, layers: rows.filter((layer) => layer.rows.length > 0) };
  for (const note of text.notes) budget.countUnits(note.text.length);
  return { page, loss: text.isUndecodable ? "undecodable" : null, notes: text.notes };
}

interface PlacedNote extends PageNote {
  readonly page: number;
}

/** Adds each note after the block of its page that is nearest to it. */
function withNotes(blocks: readonly Block[], notes: readonly PlacedNote[]): readonly Block[] {
  if (notes.length === 0) return blocks;
  const byPage = Map.groupBy(blocks, ({ page }) => page);
  const pages = [...byPage.keys()].sort((a, b) => a - b);
  const behind = new Map<Block | null, Block[]>();
  for (const { text, page, top, bottom } of notes.slice(0, NOTES_MAX)) {
    const place =
      nearestTo((top + bottom) / 2, byPage.get(page) ?? []) ??
      byPage.get(pages.findLast((each) => each < page) ?? 0)?.at(-1) ??
      null;
    const note: Block = { kind: "table", page, lines: [text] };
    const added = behind.get(place);
    if (added === undefined) behind.set(place, [note]);
    else added.push(note);
  }
  return [...(behind.get(null) ?? []), ...blocks.flatMap((block) => [block, ...(behind.get(block) ?? [])])];
}

/** The block that is at a height of the page, else the nearest one; null if there is none. */
function nearestTo(height: number, blocks: readonly Block[]): Block | null {
  let nearest: { block: Block; distance: number } | null = null;
  for (const block of blocks.slice(0, NOTES_MAX)) {
    if (block.extent === undefined || (block.kind === "text" && block.isAside)) continue;
    const distance = Math.max(block.extent.top - height, height - block.extent.bottom, 0);
    if (nearest === null || distance < nearest.distance) nearest = { block, distance };
  }
  return nearest?.block ?? null;
}

function layOut(pages: readonly PageRows[], budget: Budget): Block[] {
  const running = runningSegments(pages);
  const blocks: Block[] = [];
  let regions = 0;
  for (const { number, layers } of pages) {
    budget.checkTime();
    for (const [layer, { rows }] of layers.entries()) {
      const segments = rows.flatMap((row) => row.segments).filter((segment) => !running.has(segment));
      const whole = withWholeRows(segments);
      for (const segmentsOfRegion of regionsOf(whole.segments)) {
        const place = { page: number, region: regions++, isAside: layer > 0 };
        for (const part of boxesApart(segmentsOfRegion).flatMap(tablesApart)) {
          const isBoxed = part[0]?.box !== undefined;
          blocks.push(...blocksOf(rowsWithCells(whole.expand(part)), { ...place, isBoxed }));
        }
      }
    }
  }
  return withContinuedTables(blocks);
}

function isVisible(block: Block): boolean {
  const lines = block.kind === "table" ? block.lines : block.lines.map(({ text }) => text);
  return lines.some((line) => /[^\s\p{C}\p{M}]/u.test(line));
}

/** Adds notes about missing pages. */
function withGapNotes(blocks: readonly Block[], losses: readonly PageLoss[]): readonly Block[] {
  if (losses.length === 0) return blocks;
  const stretches: { from: number; to: number; why: PageLoss["why"] }[] = [];
  for (const { page, why } of losses) {
    const last = stretches.at(-1);
    if (last !== undefined && last.to === page - 1 && last.why === why) last.to = page;
    else stretches.push({ from: page, to: page, why });
  }
  const notes = stretches.map(({ from, to, why }): Block => {
    const line = from === to ? `[Page ${from} ${LOSSES[why].one}]` : `[Pages ${from} to ${to} ${LOSSES[why].several}]`;
    return { kind: "table", page: from, lines: [line] };
  });
  return [...notes, ...blocks].sort((a, b) => a.page - b.page);
}

/** Number of letters and digits of a page. Stops at `LETTERS_MIN`. */
function lettersOf({ layers }: PageText): number {
  let letters = 0;
  for (const { text } of layers.flatMap(({ runs }) => runs)) {
    letters += text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
    if (letters >= LETTERS_MIN) break;
  }
  return letters;
}

function withoutText([first]: readonly PageLoss[], pictures: PictureTexts | null): string {
  if (first?.why === "damaged")
    return `The file is damaged: page ${first.page} cannot be read, and no other holds text.`;
  if (first?.why === "undecodable") return "The file's fonts do not say which letters they show.";
  return pictures?.failure("The file holds no text; it seems to be a scan") ?? NO_TEXT;
}

/**
 * Returns the result of `read`, or `otherwise` if it fails. Used for parts of a file that are useful but not necessary.
 */
async function optional<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read();
  } catch {
    // pdf.js found damage, but the text does not depend on this part of the file
    return otherwise;
  }
}

/** The title in the metadata, shortened; null if it is the name of a file or program, or a placeholder. */
function usableTitle(written: string): string | null {
  const title = shortTitle(
    written
      .slice(0, TITLE_UNITS_MAX)
      .replace(/[\p{Cc}\p{Cf}\p{Co}]+/gu, " ")
      .toWellFormed(),
  );
  const isFileName =
    /\.(?:docx?|dotx?|rtf|odt|pdf|pptx?|xlsx?|tex|dvi|ps|eps|indd|qxd|pmd|pages|key|html?|txt|md|ai|cdr|wpd|fm)$/i;
  const isPlaceholder =
    /^(?:untitled|unbenannt|sans titre|anonymous|\(?anonymous\)?|title|document ?\d*|dokument ?\d*|slide ?\d+|folie ?\d+|layout ?\d+|book ?\d+|mappe ?\d+|powerpoint presentation|powerpoint-präsentation|presentation ?\d*|no title|print|scan.{0,20})$/i;
  const isProgram = /^microsoft (?:word|powerpoint|excel|publisher)\b|^(?:about|https?):/i;
  const letters = title.match(/\p{L}/gu)?.length ?? 0;
  if (letters < 3 || isFileName.test(title) || isPlaceholder.test(title) || isProgram.test(title)) return null;
  return /[\\/]/.test(title) && !/\s/.test(title) ? null : title;
}

/** Whether a PDF has pictures. Their dictionaries are never compressed (ISO 32000-1, 7.5.7). */
function holdsImages(bytes: Uint8Array): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = buffer.indexOf("/Image"); at !== -1; at = buffer.indexOf("/Image", at + 1)) {
    if (!/[A-Za-z]/.test(String.fromCharCode(buffer[at + 6] ?? 0))) return true;
  }
  return false;
}

function refused(message: string, cause?: unknown): ReadFailure {
  return new ReadFailure("unreadable_document", message, { cause });
}

/** Thrown when a limit is exceeded. */
class LimitExceeded extends Error {
  override readonly name = "LimitExceeded";

  constructor(readonly failure: ReadFailure) {
    super(failure.message);
  }
}

/** Counts what one file costs. */
class Budget {
  private readonly until: number;
  private runs = 0;
  private units = 0;
  private page = 0;
  private pages = 0;

  constructor(
    private readonly clock: Clock,
    private readonly timeMsMax: number,
  ) {
    this.until = clock.now() + timeMsMax;
  }

  beginPage(page: number, pages: number): void {
    this.page = page;
    this.pages = pages;
    this.checkTime();
  }

  countRuns(runs: number): void {
    this.runs += runs;
    if (this.runs > RUNS_MAX) this.stop(`holds more than ${RUNS_MAX.toLocaleString("en")} pieces of text`);
    this.checkTime();
  }

  countUnits(units: number): void {
    this.units += units;
    if (this.units > TEXT_UNITS_MAX) this.stop(`holds more than ${TEXT_UNITS_MAX / 1_000_000} MB of text`);
  }

  checkTime(): void {
    if (this.clock.now() > this.until) throw new LimitExceeded(this.tooSlow());
  }

  tooSlow(): ReadFailure {
    const where = this.page === 0 ? "" : ` (page ${this.page} of ${this.pages})`;
    return refused(`The file takes longer than ${this.timeMsMax / 1000} s to read${where}. Upload it in parts.`);
  }

  private stop(what: string): never {
    throw new LimitExceeded(refused(`The file ${what}, the limit for a file. Upload it in parts.`));
  }
}
