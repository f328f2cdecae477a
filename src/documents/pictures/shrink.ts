// Makes small JPEGs of pictures, in colour if the file has them so.

import { crc32, deflateSync } from "node:zlib";
import type { Picture } from "../../ocr/picture.ts";
import type { FilePictures } from "../recognition.ts";
import { checkPixels, PIXELS_MAX } from "./decode.ts";

/** Length in pixels of the longer side; models look at pictures of about this size. */
const SIDE_MAX = 1_024;
/** Minimum length in pixels of the shorter side. A smaller picture is an icon, a rule or a logo. */
const SIDE_MIN = 64;
const QUALITY = 80;
const PNG_SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** A small JPEG of a picture; null if it is too small to show anything. @throws ReadFailure, or the decoder's error */
export async function smallJpeg(pictures: FilePictures, id: string): Promise<Uint8Array | null> {
  const bytes = (await pictures.encoded?.(id)) ?? pngOf(await pictures.read(id));
  const { width, height } = await new Bun.Image(bytes, { maxPixels: Number.MAX_SAFE_INTEGER }).metadata();
  if (Math.min(width, height) < SIDE_MIN) return null;
  checkPixels(width, height);
  return new Bun.Image(bytes, { maxPixels: PIXELS_MAX })
    .resize(SIDE_MAX, SIDE_MAX, { fit: "inside", withoutEnlargement: true })
    .jpeg({ quality: QUALITY })
    .bytes();
}

/** Grey values as a PNG (ISO/IEC 15948), which the encoder of JPEGs reads. */
function pngOf({ width, height, grey }: Picture): Uint8Array {
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) rows.set(grey.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // eight bits per pixel
  header[8] = 8;
  return Buffer.concat([
    PNG_SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows, { level: 1 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(data.length + 12);
  framed.writeUInt32BE(data.length, 0);
  framed.write(kind, 4, "latin1");
  framed.set(data, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, data.length + 8)), data.length + 8);
  return framed;
}
