// Opens a PDF with pdf.js and returns the text runs of each page with their positions. Nothing is rendered, executed or
// fetched. pdfjs-rules.ts and pdfjs-pictures.ts use pdf.js for ruling lines and images; segments.ts and the files after
// it build lines, columns and paragraphs.

import type { PDFDocumentProxy, PDFPageProxy } from "unpdf/pdfjs";
import { processorMs } from "../processor-time.ts";
import { ANNOTATIONS_MAX, type Area, fieldOf, noteOf, type PageNote } from "./annotations.ts";
import type { Rule } from "./borders.ts";
import { type Field, withFieldValues } from "./fields.ts";
import { useImageDecoders } from "./image-decoders.ts";
import { mayHoldLigatures, withLigaturesInOrder } from "./ligatures.ts";
import { rulesOf } from "./pdfjs-rules.ts";
import { mayHoldTable } from "./ruled-tables.ts";
import type { Face, Run } from "./runs.ts";

/** The text of a page. */
export interface PageText {
  /** One layer per text direction; the direction of most of the text comes first. */
  readonly layers: readonly Layer[];
  /** Whether most of the text is in fonts without a mapping to characters. Their runs are left out. */
  readonly isUndecodable: boolean;
  /** What people have added to the page. */
  readonly notes: readonly PageNote[];
  /** Lines along the axes of the first layer, if its text may be a table. */
  readonly rules: readonly Rule[];
}

/** The runs of a page with one text direction. */
export interface Layer {
  /** Direction of the text in degrees. */
  readonly angle: number;
  /** In drawing order. */
  readonly runs: readonly Run[];
  /** Upper and lower edge of the page in the coordinates of the runs. */
  readonly top: number;
  readonly bottom: number;
}

/** An entry of the outline of a PDF. */
export interface Bookmark {
  readonly title: string;
  /** Level in the outline; 0 is the outermost. */
  readonly depth: number;
}

/** An open PDF. */
export interface OpenPdf {
  readonly pageCount: number;
  /** Titles in the metadata as they are in the file, the most reliable first. */
  titles(): Promise<readonly string[]>;
  /** Entries of the outline in order, at most 10,000. */
  bookmarks(): Promise<readonly Bookmark[]>;
  /**
   * The text of a page (from 1).
   * @throws the error that `check` throws, or the error of pdf.js if the page is damaged
   */
  read(page: number, check: RunCheck): Promise<PageText>;
  close(): Promise<void>;
}

/** Called while a page is read, with the number of runs since the last call. Throws to stop reading. */
export type RunCheck = (runs: number) => void;

/** Thrown if pdf.js cannot open a file. */
export class PdfNotOpened extends Error {
  override readonly name = "PdfNotOpened";

  constructor(
    readonly reason: "encrypted" | "damaged",
    options?: ErrorOptions,
  ) {
    super(`the PDF is ${reason}`, options);
  }
}

const BOOKMARKS_MAX = 10_000;
const BOOKMARK_DEPTH_MAX = 32;
/**
 * Limits for reading font names, which show whether a font is bold: number of pages, time for all pages, time for one
 * page. pdf.js returns font names only with the drawing operations of a page, so these are read for pages with new
 * fonts. Damaged fonts take long, and bold headings do not justify more time. The times are processor time in
 * milliseconds, so that the result does not depend on the load of the machine.
 */
const FACE_PAGES_MAX = 200;
const FACE_MS_MAX = 8_000;
const FACE_PAGE_MS_MAX = 2_000;
/** Maximum processor time for reading the glyphs of Arabic pages, in milliseconds. */
const GLYPH_MS_MAX = 8_000;
/** Maximum processor time for reading the lines of tables, in milliseconds. */
const RULE_MS_MAX = 6_000;
/** Maximum rotation in degrees of text that counts as upright, because scans are slightly rotated. */
const ASKEW_DEGREES_MAX = 2;
/** Maximum number of text directions per page. Text on a curve has one direction per letter. */
const LAYERS_MAX = 16;
/** Maximum number of form fields of a page; a page of a tax form has two hundred. */
const FIELDS_MAX = 2_000;
/** Maximum share of control characters in the text of a font. With more, the font cannot be decoded. */
const CONTROLS_SHARE_MAX = 0.1;
/** A bullet as symbol fonts have it, in the private use area. */
const SYMBOL = "\uf0b7";
/** Assumed width of a character in a run whose width is unknown, in font sizes. */
const CHARACTER_WIDTH = 0.45;

/**
 * Opens a PDF whose user password is empty. Transfers the bytes: the caller cannot use them afterwards.
 * @throws PdfNotOpened
 */
export async function openPdf(bytes: Uint8Array): Promise<OpenPdf> {
  // images are not decoded
  const { document, close } = await withPdf(bytes, { maxImageSize: 1 });
  return new PdfjsDocument(document, close);
}

/**
 * The document of pdf.js, and what closes it. Transfers the bytes.
 * @param maxImageSize number of pixels of the largest image that is decoded
 * @throws PdfNotOpened
 */
export async function withPdf(
  bytes: Uint8Array,
  { maxImageSize }: { readonly maxImageSize: number },
): Promise<{ readonly document: PDFDocumentProxy; close(): Promise<void> }> {
  useImageDecoders();
  const { getDocument } = await import("unpdf/pdfjs");
  const stopIgnoring = ignoreUnhandledRejections();
  const task = getDocument({
    data: bytes,
    verbosity: 0,
    BinaryDataFactory: EmbeddedMaps,
    // pdf.js requires this option, but EmbeddedMaps uses only the file name
    cMapUrl: "/",
    cMapPacked: true,
    useWorkerFetch: false,
    useSystemFonts: false,
    disableFontFace: true,
    fontExtraProperties: false,
    enableXfa: false,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    useWasm: false,
    maxImageSize,
  });
  const close = async () => {
    await task.destroy();
    await stopIgnoring();
  };
  try {
    return { document: await task.promise, close };
  } catch (cause) {
    await close();
    throw new PdfNotOpened(isAboutEncryption(cause) ? "encrypted" : "damaged", { cause });
  }
}

/**
 * Ignores unhandled rejections until the returned function is called. For damaged files, pdf.js rejects promises that
 * nobody awaits, which would end this process. Damage that matters is also reported by the calls that are awaited.
 */
function ignoreUnhandledRejections(): () => Promise<void> {
  const ignore = () => undefined;
  process.on("unhandledRejection", ignore);
  return async () => {
    // rejections are reported in the next turn of the event loop
    await eventLoopTurn();
    process.off("unhandledRejection", ignore);
  };
}

/** Lets timers and I/O run, because pdf.js itself only yields to promises. */
function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Provides pdf.js with the embedded character maps. Text extraction needs neither fonts nor image decoders. */
class EmbeddedMaps {
  async fetch({ kind, filename }: { readonly kind: string; readonly filename: string }): Promise<Uint8Array> {
    const { characterMap } = await import("./character-maps.ts");
    const found = kind === "cMapUrl" ? characterMap(filename.replace(/\.bcmap$/, "")) : null;
    // pdf.js continues without the map
    if (found === null) throw new Error(`${filename} is not embedded`);
    return found;
  }
}

function isAboutEncryption(cause: unknown): boolean {
  return cause instanceof Error && (cause.name === "PasswordException" || /encrypt/i.test(cause.message));
}

class PdfjsDocument implements OpenPdf {
  readonly pageCount: number;
  private readonly faces = new Map<string, Face>();
  private facePages = 0;
  private faceMs = 0;
  private glyphMs = 0;
  private ruleMs = 0;

  constructor(
    private readonly document: PDFDocumentProxy,
    readonly close: () => Promise<void>,
  ) {
    this.pageCount = document.numPages;
  }

  async titles(): Promise<readonly string[]> {
    const { info, metadata } = await this.document.getMetadata();
    const found: unknown[] = [metadata?.get("dc:title"), "Title" in info ? info.Title : null];
    return found.filter((title) => typeof title === "string");
  }

  async bookmarks(): Promise<readonly Bookmark[]> {
    const found: Bookmark[] = [];
    const visit = (nodes: readonly OutlineNode[], depth: number) => {
      for (const { title, items } of nodes) {
        if (found.length >= BOOKMARKS_MAX) return;
        found.push({ title, depth });
        if (depth < BOOKMARK_DEPTH_MAX) visit(items, depth + 1);
      }
    };
    visit((await this.document.getOutline()) ?? [], 0);
    return found;
  }

  async read(number: number, check: RunCheck): Promise<PageText> {
    await eventLoopTurn();
    const page = await this.document.getPage(number);
    try {
      const startedAt = processorMs();
      const { items: read, fonts } = await readItems(page, check);
      const isQuick = processorMs() - startedAt < FACE_PAGE_MS_MAX;
      const unknown = [...fonts.keys()].filter((font) => !this.faces.has(font));
      if (unknown.length > 0) await this.learnFaces(page, unknown, fonts, isQuick);
      const items = await this.inLogicalOrder(page, read, isQuick);
      const undecodable = undecodableFonts(items);
      const decoded = items.filter(({ fontName }) => !undecodable.has(fontName));
      const isUndecodable = unitsOf(decoded) * 2 < unitsOf(items);
      // if most of the page can be decoded, a single character in a font that cannot is a bullet or an ornament
      const shown = isUndecodable ? decoded : items.flatMap((item) => asWritten(item, undecodable));
      const layers = layersOf(shown, fonts, this.faces, page);
      const { fields, notes } = await annotationsOf(page, layers[0]?.angle ?? 0, check);
      const rules = isQuick ? await this.rulesFor(page, layers[0]) : [];
      return { layers: withFields(layers, fields, page), isUndecodable, notes, rules };
    } finally {
      page.cleanup();
    }
  }

  private async inLogicalOrder(page: PDFPageProxy, items: readonly Item[], isQuick: boolean): Promise<readonly Item[]> {
    if (!items.some(({ str }) => mayHoldLigatures(str))) return items;
    if (!isQuick || this.glyphMs >= GLYPH_MS_MAX) return withLigaturesInOrder(items, []);
    const startedAt = processorMs();
    const glyphs = await glyphsOf(page);
    this.glyphMs += processorMs() - startedAt;
    return withLigaturesInOrder(items, glyphs);
  }

  private async rulesFor(page: PDFPageProxy, layer: Layer | undefined): Promise<readonly Rule[]> {
    if (layer === undefined || !mayHoldTable(layer.runs) || this.ruleMs >= RULE_MS_MAX) return [];
    const startedAt = processorMs();
    try {
      return await rulesOf(page, product, (x, y) => rotated(x, y, layer.angle));
    } catch {
      // the drawing is damaged; the text was read
      return [];
    } finally {
      this.ruleMs += processorMs() - startedAt;
    }
  }

  private async learnFaces(
    page: PDFPageProxy,
    unknown: readonly string[],
    fonts: Fonts,
    isQuick: boolean,
  ): Promise<void> {
    if (isQuick && this.facePages < FACE_PAGES_MAX && this.faceMs < FACE_MS_MAX) {
      const startedAt = processorMs();
      await page.getOperatorList();
      this.facePages++;
      this.faceMs += processorMs() - startedAt;
    }
    for (const font of unknown) {
      const isMonospaced = fonts.get(font)?.fontFamily === "monospace";
      this.faces.set(font, { isBold: isBold(page, font), isMonospaced });
    }
  }
}

interface OutlineNode {
  readonly title: string;
  readonly items: readonly OutlineNode[];
}

/** A text item of pdf.js. */
interface Item {
  readonly str: string;
  readonly dir: string;
  /** Affine transform from text space to page space. */
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly fontName: string;
}

type Fonts = ReadonlyMap<string, { readonly fontFamily: string; readonly vertical: boolean }>;

async function readItems(page: PDFPageProxy, check: RunCheck): Promise<{ items: Item[]; fonts: Fonts }> {
  const items: Item[] = [];
  const fonts = new Map<string, { fontFamily: string; vertical: boolean }>();
  // normalisation by pdf.js is disabled because it reverses letters before it decomposes ligatures; `lettersOf`
  // decomposes them in the right order
  const reader = page.streamTextContent({ disableNormalization: true }).getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const chunk: { items: object[]; styles: Record<string, { fontFamily: string; vertical: boolean }> } = part.value;
      for (const [font, style] of Object.entries(chunk.styles)) fonts.set(font, style);
      for (const item of chunk.items) if (isItem(item) && item.str.trim() !== "") items.push(item);
      check(chunk.items.length);
    }
  } catch (cause) {
    await reader.cancel(cause instanceof Error ? cause : new Error(String(cause)));
    throw cause;
  }
  return { items, fonts };
}

/** The text of each glyph of a page in drawing order. */
async function glyphsOf(page: PDFPageProxy): Promise<readonly string[]> {
  const { OPS } = await import("unpdf/pdfjs");
  const { fnArray, argsArray } = await page.getOperatorList();
  const shown = argsArray.filter((_, at) => fnArray[at] === OPS.showText) as (readonly [readonly unknown[]])[];
  // the array also contains numbers, which are distances between glyphs
  return shown.flatMap(([glyphs]) =>
    glyphs.flatMap((glyph) => (isGlyph(glyph) ? glyph.unicode.replace(/\p{Cf}/gu, "") : [])),
  );
}

function isGlyph(value: unknown): value is { readonly unicode: string } {
  return typeof value === "object" && value !== null && "unicode" in value && typeof value.unicode === "string";
}

function isItem(item: object): item is Item {
  return "str" in item && typeof item.str === "string";
}

function isBold(page: PDFPageProxy, font: string): boolean {
  if (!page.commonObjs.has(font)) return false;
  const { name, bold, black } = page.commonObjs.get(font) as { name?: unknown; bold?: unknown; black?: unknown };
  if (bold === true || black === true) return true;
  // bold fonts of TeX are named Medi (Nimbus) and BX (Computer Modern)
  return (
    typeof name === "string" && /bold|black|heavy|demi|-Medi(?:Ital)?$|(?:^|\+)(?:CMB|SFB|ECB)|[-,]f?Bd/i.test(name)
  );
}

/**
 * Finds fonts without a mapping to characters. Their text is full of control characters, and its other characters are
 * wrong.
 */
function undecodableFonts(items: readonly Item[]): ReadonlySet<string> {
  const byFont = new Map<string, { controls: number; units: number }>();
  for (const { fontName, str } of items) {
    const known = byFont.get(fontName) ?? { controls: 0, units: 0 };
    known.controls += str.match(/\p{Cc}/gu)?.length ?? 0;
    known.units += str.length;
    byFont.set(fontName, known);
  }
  const isUndecodable = ({ controls, units }: { controls: number; units: number }) =>
    controls > CONTROLS_SHARE_MAX * units;
  return new Set([...byFont].filter(([, counts]) => isUndecodable(counts)).map(([font]) => font));
}

function asWritten(item: Item, undecodable: ReadonlySet<string>): readonly Item[] {
  if (!undecodable.has(item.fontName)) return [item];
  return item.str.trim().length === 1 ? [{ ...item, str: SYMBOL }] : [];
}

function unitsOf(items: readonly Item[]): number {
  return items.reduce((sum, { str }) => sum + str.length, 0);
}

function layersOf(
  items: readonly Item[],
  fonts: Fonts,
  faces: ReadonlyMap<string, Face>,
  page: PDFPageProxy,
): readonly Layer[] {
  const { transform: toPage, width, height } = page.getViewport({ scale: 1 });
  const byAngle = new Map<number, { runs: Run[]; units: number }>();
  for (const item of items) {
    const [a, b, c, d, x, y] = product(toPage, item.transform);
    const size = Math.hypot(c, d);
    if (![a, b, x, y, size].every(Number.isFinite) || size <= 0) continue;
    const isVertical = fonts.get(item.fontName)?.vertical === true;
    const degrees = Math.round((Math.atan2(b, a) * 180) / Math.PI) + (isVertical ? 90 : 0);
    const angle = Math.abs(degrees) <= ASKEW_DEGREES_MAX ? 0 : (degrees + 360) % 360;
    const layer = byAngle.get(angle) ?? { runs: [], units: 0 };
    if (!byAngle.has(angle)) {
      if (byAngle.size >= LAYERS_MAX) continue;
      byAngle.set(angle, layer);
    }
    const { across, down } = rotated(x, y, angle);
    const length = isVertical ? item.height : item.width;
    const right = across + (length > 0 ? length : CHARACTER_WIDTH * size * item.str.length);
    const face = faces.get(item.fontName) ?? { isBold: false, isMonospaced: false };
    layer.runs.push({ text: lettersOf(item.str), left: across, right, baseline: down, size, face });
    layer.units += item.str.length;
  }
  return [...byAngle]
    .sort(([, left], [, right]) => right.units - left.units)
    .map(([angle, { runs }]) => {
      const corners = [
        rotated(0, 0, angle),
        rotated(width, 0, angle),
        rotated(0, height, angle),
        rotated(width, height, angle),
      ];
      const downs = corners.map(({ down }) => down);
      return { angle, runs, top: Math.min(...downs), bottom: Math.max(...downs) };
    });
}

/** The filled form fields and notes of a page. None if its annotations are damaged: the text is read nevertheless. */
async function annotationsOf(
  page: PDFPageProxy,
  angle: number,
  check: RunCheck,
): Promise<{ fields: readonly Field[]; notes: readonly PageNote[] }> {
  let annotations: readonly Readonly<Record<string, unknown>>[];
  try {
    annotations = await page.getAnnotations();
  } catch {
    return { fields: [], notes: [] };
  }
  const shown = annotations.slice(0, ANNOTATIONS_MAX).filter(({ subtype }) => subtype !== "Link");
  check(shown.length);
  const { transform: toPage } = page.getViewport({ scale: 1 });
  const areaOf = ({ rect }: Readonly<Record<string, unknown>>): Area | null => {
    if (!Array.isArray(rect) || rect.length !== 4 || !rect.every(Number.isFinite)) return null;
    const [x1, y1, x2, y2] = rect as [number, number, number, number];
    const onPage = (x: number, y: number) => {
      const [, , , , across, down] = product(toPage, [1, 0, 0, 1, x, y]);
      return rotated(across, down, angle);
    };
    const [one, other] = [onPage(x1, y1), onPage(x2, y2)];
    return {
      left: Math.min(one.across, other.across),
      right: Math.max(one.across, other.across),
      top: Math.min(one.down, other.down),
      bottom: Math.max(one.down, other.down),
    };
  };
  const placed = shown.flatMap((annotation) => {
    const area = areaOf(annotation);
    return area === null ? [] : [{ annotation, area }];
  });
  return {
    fields: placed.flatMap(({ annotation, area }) => fieldOf(annotation, area) ?? []).slice(0, FIELDS_MAX),
    notes: placed.flatMap(({ annotation, area }) => noteOf(annotation, area) ?? []),
  };
}

function withFields(layers: readonly Layer[], fields: readonly Field[], page: PDFPageProxy): readonly Layer[] {
  if (fields.length === 0) return layers;
  const { height } = page.getViewport({ scale: 1 });
  const [main = { angle: 0, runs: [], top: 0, bottom: height }, ...others] = layers;
  return [{ ...main, runs: withFieldValues(main.runs, fields) }, ...others];
}

/** The product of two affine transforms, as PDF writes them (ISO 32000-1, 8.3.3): `right` is applied first. */
export function product(
  left: readonly number[],
  right: readonly number[],
): [number, number, number, number, number, number] {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = left;
  const [g = 1, h = 0, i = 0, j = 1, k = 0, l = 0] = right;
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

function rotated(x: number, y: number, degrees: number): { across: number; down: number } {
  const radians = (degrees * Math.PI) / 180;
  const [cos, sin] = [Math.cos(radians), Math.sin(radians)];
  return { across: x * cos + y * sin, down: y * cos - x * sin };
}

/**
 * Matches ligatures and the positional forms of Hebrew and Arabic letters (U+FB00 and following, U+FE70 and following).
 */
const FORMS = /[\ufb00-\ufdff\ufe70-\ufefc]+/g;
/** Matches invisible characters, except soft hyphens and zero-width (non-)joiners. */
const INVISIBLE = /(?![\u00ad\u200c\u200d])[\p{Cc}\p{Cf}\ufff0-\uffff]/gu;
function lettersOf(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(FORMS, (forms) => forms.normalize("NFKC"))
    .replace(INVISIBLE, "")
    .toWellFormed();
}
