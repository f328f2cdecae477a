// Parts of a PDF that unpack to more than can be read are found before they are unpacked.

import { expect, test } from "bun:test";
import { deflateSync } from "node:zlib";
import { hasDecompressionBomb, STREAM_BYTES_MAX } from "../../../src/documents/pdf/inflation.ts";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";

function withPart(packed: Uint8Array, entries: string): Uint8Array {
  const dictionary = `%PDF-1.7\n7 0 obj\n<< /Length ${packed.length} ${entries} >>\nstream\n`;
  return Buffer.concat([Buffer.from(dictionary), packed, Buffer.from("\nendstream\nendobj\n")]);
}

const blank = (bytes: number) => deflateSync(new Uint8Array(bytes), { level: 9 });
const AT_LIMIT = blank(STREAM_BYTES_MAX);
const BEYOND = blank(STREAM_BYTES_MAX + 1);

test("a part may unpack to the limit and no further", () => {
  expect(hasDecompressionBomb(withPart(AT_LIMIT, "/Filter /FlateDecode"))).toBe(false);
  expect(hasDecompressionBomb(withPart(BEYOND, "/Filter /FlateDecode"))).toBe(true);
  expect(hasDecompressionBomb(withPart(BEYOND, "/Filter [/Fl]"))).toBe(true);
});

test("a part that is packed twice is looked at however small it is", () => {
  const twice = deflateSync(BEYOND);
  expect(twice.length).toBeLessThan(STREAM_BYTES_MAX / 1_032);
  expect(hasDecompressionBomb(withPart(twice, "/Filter [/FlateDecode /FlateDecode]"))).toBe(true);
  expect(hasDecompressionBomb(withPart(twice, "/Filter /FlateDecode"))).toBe(false);
});

test("pictures, other packings and damaged parts are left alone", () => {
  expect(hasDecompressionBomb(withPart(BEYOND, "/Filter /FlateDecode /Width 20000 /Height 20000"))).toBe(false);
  expect(hasDecompressionBomb(withPart(BEYOND, "/Filter /DCTDecode"))).toBe(false);
  expect(hasDecompressionBomb(withPart(BEYOND.slice(100), "/Filter /FlateDecode"))).toBe(false);
  expect(hasDecompressionBomb(Buffer.from("stream endstream stream"))).toBe(false);
});

test("such a file is refused with the limit", async () => {
  const failure = await readPdf(withPart(BEYOND, "/Filter /FlateDecode"));
  expect(failure instanceof ReadFailure ? failure.message : "read").toBe(
    "The file holds a part that unpacks to more than 200 MB. It is not read.",
  );
});
