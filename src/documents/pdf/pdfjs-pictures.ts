// Shows the pages of a PDF as pictures: puts the images of a page where the page draws them. Text and lines are not
// drawn, because only pages whose text is in images need this. Uses pdf.js, as pdfjs.ts does for text.

import type { PDFPageProxy } from "unpdf/pdfjs";
import { type Picture, scaled } from "../../ocr/picture.ts";
import { refuse } from "../budget.ts";
import { ENCRYPTED } from "../document.ts";
import { luminance, PIXELS_MAX, sizeToRead } from "../pictures/decode.ts";
import type { FilePictures } from "../recognition.ts";
import { PdfNotOpened, product, withPdf } from "./pdfjs.ts";

/** An affine transform as PDF writes it. */
type Transform = readonly [number, number, number, number, number, number];

/** An image of a page. */
interface DrawnImage {
  /** From the unit square, whose lower left corner is 0, 0, to the page in points, from top to bottom. */
  readonly place: Transform;
  readonly width: number;
  readonly height: number;
  /** One byte per pixel. */
  readonly grey: Uint8Array;
  /** 0 where nothing is drawn; null if all is. */
  readonly isDrawn: Uint8Array | null;
}

/** Kinds of the pixels of an image in pdf.js (`ImageKind`). */
const KINDS = { bits: 1, rgb: 2, rgba: 3 } as const;
/** Resolution in pixels per point if a page's images say none: 200 dpi. */
const PIXELS_PER_POINT = 200 / 72;
/** Maximum resolution, in pixels per point: 400 dpi. */
const PIXELS_PER_POINT_MAX = 400 / 72;
/** Maximum number of images of a page that are drawn. Some scanners cut a page into strips. */
const IMAGES_MAX = 2_000;
/** An image that is finer than the page's picture by more than this factor is shrunk before it is drawn. */
const FINER_MAX = 1.2;

/** Opens a PDF for its pictures. Transfers the bytes. @throws ReadFailure if it cannot be opened */
export async function openPdfPictures(bytes: Uint8Array): Promise<FilePictures> {
  try {
    const { document, close } = await withPdf(bytes, { maxImageSize: PIXELS_MAX });
    return {
      async read(id) {
        const page = await document.getPage(Number(id));
        try {
          return await pictureOf(page);
        } finally {
          page.cleanup();
        }
      },
      close,
    };
  } catch (cause) {
    if (cause instanceof PdfNotOpened && cause.reason === "encrypted") return refuse(ENCRYPTED, cause);
    return refuse("The file is damaged: it cannot be opened as a PDF.", cause);
  }
}

async function pictureOf(page: PDFPageProxy): Promise<Picture> {
  const { images, lost } = await imagesOf(page);
  if (images.length === 0) return refuse(lost ? "its picture cannot be decoded" : "it has no picture");
  const { width: points, height: pointsDown } = page.getViewport({ scale: 1 });
  const density = Math.min(PIXELS_PER_POINT_MAX, Math.max(...images.map(densityOf)) || PIXELS_PER_POINT);
  const size = sizeToRead(points * density, pointsDown * density);
  const scale = size.width / points;
  const grey = new Uint8Array(size.width * size.height).fill(255);
  for (const image of images) draw(image, { ...size, grey }, scale);
  return { ...size, grey };
}

/** Pixels per point of an image where it is drawn. */
function densityOf({ place: [a, b], width }: DrawnImage): number {
  return width / Math.max(1, Math.hypot(a, b));
}

/** Draws an image, pixel by pixel of the picture. */
function draw(image: DrawnImage, into: Picture, scale: number): void {
  const [a, b, c, d, e, f] = image.place.map((value) => value * scale) as unknown as Transform;
  const determinant = a * d - b * c;
  if (determinant === 0 || !Number.isFinite(determinant)) return;
  const source = notFiner(image, Math.hypot(a, b), Math.hypot(c, d));
  const [xs, ys] = [
    [e, e + a, e + c, e + a + c],
    [f, f + b, f + d, f + b + d],
  ];
  const [left, right] = [Math.max(0, Math.floor(Math.min(...xs))), Math.min(into.width, Math.ceil(Math.max(...xs)))];
  const [top, bottom] = [Math.max(0, Math.floor(Math.min(...ys))), Math.min(into.height, Math.ceil(Math.max(...ys)))];
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const [px, py] = [x + 0.5 - e, y + 0.5 - f];
      const u = (px * d - py * c) / determinant;
      const v = (py * a - px * b) / determinant;
      if (u < 0 || u >= 1 || v < 0 || v >= 1) continue;
      // the first row of an image is at the top of the unit square
      const at = Math.floor((1 - v) * source.height - 1e-9) * source.width + Math.floor(u * source.width);
      if (source.isDrawn !== null && (source.isDrawn[at] ?? 0) < 128) continue;
      into.grey[y * into.width + x] = source.grey[at] ?? 255;
    }
  }
}

/** The image, shrunk if it has many more pixels than the place where it is drawn. */
function notFiner(image: DrawnImage, across: number, down: number): DrawnImage {
  if (image.width <= across * FINER_MAX && image.height <= down * FINER_MAX) return image;
  const width = Math.max(1, Math.min(image.width, Math.round(across)));
  const height = Math.max(1, Math.min(image.height, Math.round(down)));
  const shrunk = (grey: Uint8Array) => scaled({ width: image.width, height: image.height, grey }, width, height).grey;
  const { isDrawn } = image;
  return { ...image, width, height, grey: shrunk(image.grey), isDrawn: isDrawn === null ? null : shrunk(isDrawn) };
}

/** The images of a page in drawing order; `lost` if one could not be decoded. */
async function imagesOf(page: PDFPageProxy): Promise<{ images: DrawnImage[]; lost: boolean }> {
  const { OPS } = await import("unpdf/pdfjs");
  const { fnArray, argsArray } = await page.getOperatorList();
  const images: DrawnImage[] = [];
  let lost = false;
  let place = page.getViewport({ scale: 1 }).transform as unknown as Transform;
  let ink = 0;
  const saved: { place: Transform; ink: number }[] = [];
  const add = async (image: unknown, at: Transform, isMask: boolean) => {
    if (images.length >= IMAGES_MAX) return;
    const drawn = isMask ? maskOf(image, at, ink) : imageOf(image, at);
    if (drawn === null) lost = true;
    else images.push(drawn);
  };
  for (const [at, operator] of fnArray.entries()) {
    const args = (argsArray[at] ?? []) as readonly unknown[];
    if (operator === OPS.save || operator === OPS.beginGroup) saved.push({ place, ink });
    else if (operator === OPS.restore || operator === OPS.endGroup) ({ place, ink } = saved.pop() ?? { place, ink });
    else if (operator === OPS.transform) place = product(place, args as readonly number[]);
    else if (operator === OPS.paintFormXObjectBegin) {
      saved.push({ place, ink });
      if (Array.isArray(args[0])) place = product(place, args[0] as readonly number[]);
    } else if (operator === OPS.paintFormXObjectEnd) ({ place, ink } = saved.pop() ?? { place, ink });
    else if (operator === OPS.setFillRGBColor) ink = inkOf(args);
    else if (operator === OPS.paintImageXObject) await add(await objectOf(page, args[0]), place, false);
    else if (operator === OPS.paintInlineImageXObject) await add(args[0], place, false);
    else if (operator === OPS.paintImageMaskXObject) await add(await maskData(page, args[0]), place, true);
  }
  return { images, lost };
}

/** Brightness of a fill colour, which pdf.js gives as three numbers or as `#rrggbb`. */
function inkOf(args: readonly unknown[]): number {
  const [first] = args;
  if (typeof first === "string" && /^#[0-9a-f]{6}$/i.test(first)) {
    const value = Number.parseInt(first.slice(1), 16);
    return luminance(value >> 16, (value >> 8) & 255, value & 255);
  }
  const [red, green, blue] = args.map(Number);
  return luminance(red ?? 0, green ?? 0, blue ?? 0);
}

/** An object of a page by its name; null if it could not be decoded. */
function objectOf(page: PDFPageProxy, name: unknown): Promise<unknown> {
  if (typeof name !== "string") return Promise.resolve(null);
  const objects = name.startsWith("g_") ? page.commonObjs : page.objs;
  return new Promise((resolve) => objects.get(name, resolve));
}

async function maskData(page: PDFPageProxy, mask: unknown): Promise<unknown> {
  const { data } = (mask ?? {}) as { readonly data?: unknown };
  return typeof data === "string" ? objectOf(page, data) : mask;
}

interface PdfImage {
  readonly width: number;
  readonly height: number;
  readonly kind?: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

function isPdfImage(value: unknown): value is PdfImage {
  if (typeof value !== "object" || value === null) return false;
  const { width, height, data } = value as Partial<PdfImage>;
  return Number.isInteger(width) && Number.isInteger(height) && data !== undefined && typeof data.length === "number";
}

function imageOf(image: unknown, place: Transform): DrawnImage | null {
  if (!isPdfImage(image)) return null;
  const { width, height, data, kind } = image;
  const pixels = width * height;
  if (pixels > PIXELS_MAX) return null;
  if (kind === KINDS.bits) return { place, width, height, grey: bitsOf(image, 0, 255), isDrawn: null };
  const channels = kind === KINDS.rgba ? 4 : kind === KINDS.rgb ? 3 : Math.round(data.length / pixels);
  if (channels !== 1 && channels !== 3 && channels !== 4) return null;
  const grey = new Uint8Array(pixels);
  const isDrawn = channels === 4 ? new Uint8Array(pixels) : null;
  for (let pixel = 0, at = 0; pixel < pixels; pixel++, at += channels) {
    const first = data[at] ?? 0;
    grey[pixel] = channels === 1 ? first : luminance(first, data[at + 1] ?? 0, data[at + 2] ?? 0);
    if (isDrawn !== null) isDrawn[pixel] = data[at + 3] ?? 0;
  }
  return { place, width, height, grey, isDrawn };
}

/** An image that is drawn in one colour, where its bits are 0. */
function maskOf(image: unknown, place: Transform, ink: number): DrawnImage | null {
  if (!isPdfImage(image) || image.width * image.height > PIXELS_MAX) return null;
  const { width, height } = image;
  return { place, width, height, grey: new Uint8Array(width * height).fill(ink), isDrawn: bitsOf(image, 255, 0) };
}

/** One byte per pixel of an image with one bit per pixel, whose rows begin at a byte. */
function bitsOf({ width, height, data }: PdfImage, zero: number, one: number): Uint8Array {
  const bytes = new Uint8Array(width * height);
  const stride = Math.ceil(width / 8);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const bit = ((data[y * stride + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1;
      bytes[y * width + x] = bit === 1 ? one : zero;
    }
  }
  return bytes;
}
