// Decodes the pictures of a file to grey values: PNG, JPEG and WebP with Bun's decoders, TIFF with utif2 (tiff.ts).
// Sizes are checked before anything is decoded.

import { inflateSync } from "node:zlib";
import type { Picture } from "../../ocr/picture.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { refuse } from "../budget.ts";

/** Pictures of a file, such as the pages of a TIFF. */
export interface PictureSource {
  readonly count: number;
  /** Decodes a picture (from 0). @throws ReadFailure if it is damaged or too large */
  read(index: number): Promise<Picture>;
}

/** Maximum number of pixels of a picture: more than a page of A3 has at 500 dpi. Decoded, it takes 256 MB. */
export const PIXELS_MAX = 64_000_000;
/**
 * Length in pixels to which the longer side of a larger picture is shrunk: A3 at 300 dpi. Text is not read better with
 * more.
 */
const SIDE_MAX = 5_000;
/** Bytes per pixel of what Bun decodes: red, green, blue, opacity. */
const CHANNELS = 4;
const PNG_HEADER_BYTES = 8;

/** @throws ReadFailure if a picture of this size is not decoded */
export function checkPixels(width: number, height: number): void {
  if (width < 1 || height < 1) refuse("The picture has no pixels.");
  if (width * height <= PIXELS_MAX) return;
  const [across, down] = [width, height].map((side) => side.toLocaleString("en-US"));
  refuse(`The picture has ${across} × ${down} pixels; at most ${PIXELS_MAX / 1_000_000} million are read.`);
}

/** Decodes a PNG, JPEG or WebP; of an animation, the first picture. @throws ReadFailure */
export async function decodePicture(bytes: Uint8Array): Promise<Picture> {
  try {
    const { width, height } = await new Bun.Image(bytes, { maxPixels: Number.MAX_SAFE_INTEGER }).metadata();
    checkPixels(width, height);
    const image = new Bun.Image(bytes, { maxPixels: PIXELS_MAX });
    if (Math.max(width, height) > SIDE_MAX) {
      image.resize(SIDE_MAX, SIDE_MAX, { fit: "inside", withoutEnlargement: true, filter: "box" });
    }
    // Bun returns no pixels, but a PNG without compression has them
    return greyOfPlainPng(await image.png({ compressionLevel: 0 }).bytes());
  } catch (cause) {
    if (cause instanceof ReadFailure) throw cause;
    return refuse("The picture is damaged: it cannot be decoded.", cause);
  }
}

/**
 * Grey values of pixels with red, green, blue and opacity. The ground behind transparent parts is black if the opaque
 * ones are light, otherwise white.
 */
export function greyOfRgba(rgba: Uint8Array, width: number, height: number): Picture {
  const grey = new Uint8Array(width * height);
  let opaque = 0;
  let light = 0;
  for (let pixel = 0, at = 0; pixel < grey.length; pixel++, at += CHANNELS) {
    const value = luminance(rgba[at] ?? 0, rgba[at + 1] ?? 0, rgba[at + 2] ?? 0);
    grey[pixel] = value;
    if ((rgba[at + 3] ?? 0) < 128) continue;
    opaque++;
    light += value;
  }
  if (opaque === grey.length) return { width, height, grey };
  const behind = opaque > 0 && light / opaque > 160 ? 0 : 255;
  for (let pixel = 0, at = 3; pixel < grey.length; pixel++, at += CHANNELS) {
    const share = (rgba[at] ?? 0) / 255;
    grey[pixel] = (grey[pixel] ?? 0) * share + behind * (1 - share);
  }
  return { width, height, grey };
}

/** Brightness of a colour (ITU-R BT.601). */
export function luminance(red: number, green: number, blue: number): number {
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}

/** The size at which a picture is read: its own, or reduced so that no side is longer than `SIDE_MAX`. */
export function sizeToRead(width: number, height: number): { readonly width: number; readonly height: number } {
  const ratio = Math.min(1, SIDE_MAX / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * ratio)), height: Math.max(1, Math.round(height * ratio)) };
}

/** The grey values of a PNG with 8 bits each for red, green, blue and opacity, whose rows have no filter. */
function greyOfPlainPng(png: Uint8Array): Picture {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const [width, height] = [view.getUint32(PNG_HEADER_BYTES + 8), view.getUint32(PNG_HEADER_BYTES + 12)];
  const parts: Uint8Array[] = [];
  for (let at = PNG_HEADER_BYTES; at + 12 <= png.length; ) {
    const length = view.getUint32(at);
    const kind = String.fromCharCode(...png.subarray(at + 4, at + 8));
    if (kind === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const rows = inflateSync(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts));
  const stride = width * CHANNELS;
  // each row begins with a byte that names its filter; moving the rows together in place saves a copy
  for (let row = 0; row < height; row++) {
    const from = row * (stride + 1);
    if (rows[from] !== 0) throw new Error("a row of a PNG without compression has a filter");
    rows.copyWithin(row * stride, from + 1, from + 1 + stride);
  }
  return greyOfRgba(rows, width, height);
}
