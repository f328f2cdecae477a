// Tests that decompression bombs in PDFs are found before pdf.js decompresses them.

import { expect, test } from "bun:test";
import { deflateSync } from "node:zlib";
import { hasDecompressionBomb, STREAM_BYTES_MAX } from "../../../src/documents/pdf/inflation.ts";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";

function withStream(compressed: Uint8Array, entries: string): Uint8Array {
  const dictionary = `%PDF-1.7\n7 0 obj\n<< /Length ${compressed.length} ${entries} >>\nstream\n`;
  return Buffer.concat([Buffer.from(dictionary), compressed, Buffer.from("\nendstream\nendobj\n")]);
}

const blank = (bytes: number) => deflateSync(new Uint8Array(bytes), { level: 9 });
const AT_LIMIT = blank(STREAM_BYTES_MAX);
const BEYOND = blank(STREAM_BYTES_MAX + 1);

test("a stream may decompress to the limit and not beyond", () => {
  expect(hasDecompressionBomb(withStream(AT_LIMIT, "/Filter /FlateDecode"))).toBe(false);
  expect(hasDecompressionBomb(withStream(BEYOND, "/Filter /FlateDecode"))).toBe(true);
  expect(hasDecompressionBomb(withStream(BEYOND, "/Filter [/Fl]"))).toBe(true);
});

test("a stream that is compressed twice is checked even if it is small", () => {
  const twice = deflateSync(BEYOND);
  expect(twice.length).toBeLessThan(STREAM_BYTES_MAX / 1_032);
  expect(hasDecompressionBomb(withStream(twice, "/Filter [/FlateDecode /FlateDecode]"))).toBe(true);
  expect(hasDecompressionBomb(withStream(twice, "/Filter /FlateDecode"))).toBe(false);
});

test("pictures, other filters and damaged streams are ignored", () => {
  expect(hasDecompressionBomb(withStream(BEYOND, "/Filter /FlateDecode /Width 20000 /Height 20000"))).toBe(false);
  expect(hasDecompressionBomb(withStream(BEYOND, "/Filter /DCTDecode"))).toBe(false);
  expect(hasDecompressionBomb(withStream(BEYOND.slice(100), "/Filter /FlateDecode"))).toBe(false);
  expect(hasDecompressionBomb(Buffer.from("stream endstream stream"))).toBe(false);
});

test("such a file is refused, and the message has the limit", async () => {
  const failure = await readPdf(withStream(BEYOND, "/Filter /FlateDecode"));
  expect(failure instanceof ReadFailure ? failure.message : "read").toBe(
    "The file holds a part that decompresses to more than 200 MB, the limit for a part.",
  );
});
