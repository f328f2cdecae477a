// Reads the pages of a TIFF (TIFF 6.0). utif2 decodes a page; this file follows the list of pages and checks it first,
// because utif2 trusts it.

import type { Picture } from "../../ocr/picture.ts";
import { scaled, turned } from "../../ocr/picture.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { refuse } from "../budget.ts";
import { checkPixels, greyOfRgba, type PictureSource, sizeToRead } from "./decode.ts";

/** Maximum number of pages that are listed. */
const PAGES_MAX = 100_000;
const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
/** Bytes of a value, by the number of its type. */
const TYPE_BYTES: readonly number[] = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4];
/** Tags (TIFF 6.0, section 8). */
const TAGS = { subfile: 254, width: 256, height: 257, orientation: 274 } as const;
/** Bit of `subfile`: the page is a smaller copy of another one. */
const IS_REDUCED = 1;
/** Clockwise turns that make a page upright, by its orientation. Mirrored ones are not turned. */
const QUARTERS: Readonly<Record<number, number>> = { 3: 2, 6: 1, 8: 3 };

/** Offset of the description of a page, and what it says. */
interface TiffPage {
  readonly at: number;
  /** Offset of the field with the offset of the next page. */
  readonly nextAt: number;
  readonly width: number;
  readonly height: number;
  readonly orientation: number;
}

/** Opens a TIFF. @throws ReadFailure if it is damaged */
export function openTiff(bytes: Uint8Array): PictureSource {
  const pages = pagesOf(bytes);
  return { count: pages.length, read: async (index) => decodePage(bytes, pages[index]) };
}

async function decodePage(bytes: Uint8Array, page: TiffPage | undefined): Promise<Picture> {
  if (page === undefined) return refuse("The file is damaged: a page is missing.");
  checkPixels(page.width, page.height);
  const { decode, decodeImage, toRGBA8 } = await import("utif2");
  // a copy whose list has this page only, because utif2 reads all pages
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  view.setUint32(4, page.at, isLittleEndian(copy));
  view.setUint32(page.nextAt, 0);
  try {
    const [found] = decode(copy.buffer);
    if (found === undefined) return refuse("The file is damaged: a page cannot be decoded.");
    decodeImage(copy.buffer, found);
    const picture = greyOfRgba(toRGBA8(found), page.width, page.height);
    const { width, height } = sizeToRead(page.width, page.height);
    return turned(scaled(picture, width, height), QUARTERS[page.orientation] ?? 0);
  } catch (cause) {
    if (cause instanceof ReadFailure) throw cause;
    return refuse("The file is damaged: a page cannot be decoded.", cause);
  }
}

function isLittleEndian(bytes: Uint8Array): boolean {
  return bytes[0] === 0x49;
}

/** The pages in order, without smaller copies. */
function pagesOf(bytes: Uint8Array): readonly TiffPage[] {
  const isLittle = isLittleEndian(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER_BYTES) refuse("The file is damaged: it is cut off.");
  if (view.getUint16(2, isLittle) === 43) refuse("The file is a BigTIFF, which is not read. Save it as TIFF.");
  const pages: TiffPage[] = [];
  const seen = new Set<number>();
  for (let at = view.getUint32(4, isLittle); at !== 0; ) {
    if (seen.has(at)) refuse("The file is damaged: its list of pages is a circle.");
    seen.add(at);
    if (seen.size > PAGES_MAX) refuse(`The file has more than ${PAGES_MAX.toLocaleString("en-US")} pages.`);
    if (at + 2 > bytes.length) refuse("The file is damaged: it is cut off.");
    const entries = view.getUint16(at, isLittle);
    const nextAt = at + 2 + entries * ENTRY_BYTES;
    if (nextAt + 4 > bytes.length) refuse("The file is damaged: it is cut off.");
    const values = new Map<number, number>();
    for (let entry = at + 2; entry < nextAt; entry += ENTRY_BYTES) {
      const [type, count] = [view.getUint16(entry + 2, isLittle), view.getUint32(entry + 4, isLittle)];
      const length = (TYPE_BYTES[type] ?? 0) * count;
      if (length > bytes.length) refuse("The file is damaged: a value is longer than the file.");
      const value = type === 3 ? view.getUint16(entry + 8, isLittle) : view.getUint32(entry + 8, isLittle);
      values.set(view.getUint16(entry, isLittle), value);
    }
    const [width, height] = [values.get(TAGS.width) ?? 0, values.get(TAGS.height) ?? 0];
    const isReduced = ((values.get(TAGS.subfile) ?? 0) & IS_REDUCED) !== 0;
    if (!isReduced) pages.push({ at, nextAt, width, height, orientation: values.get(TAGS.orientation) ?? 1 });
    at = view.getUint32(nextAt, isLittle);
  }
  return pages;
}
