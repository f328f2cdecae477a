// Tests the list of formats: nothing in it is ambiguous, and each format is found by its media type.

import { expect, test } from "bun:test";
import { FORMAT_NAMES, FORMATS, formatOfMediaType, isKnownExtension } from "../../src/documents/formats.ts";

test("no two formats share a media type, an extension or a name", () => {
  for (const values of [
    FORMATS.map(({ mediaType }) => mediaType),
    FORMATS.flatMap(({ extensions }) => extensions),
    FORMATS.map(({ name }) => name).filter((name) => name !== ""),
  ]) {
    expect(values).toEqual([...new Set(values)]);
  }
});

test("a format is found by its media type, and an unknown media type is a bug", () => {
  for (const format of FORMATS) expect(formatOfMediaType(format.mediaType)).toBe(format);
  expect(() => formatOfMediaType("image/gif")).toThrow("image/gif");
});

test("extensions are in lower case and without a dot", () => {
  for (const extension of FORMATS.flatMap(({ extensions }) => extensions)) {
    expect(extension).toMatch(/^[a-z0-9]{1,16}$/);
    expect(isKnownExtension(extension)).toBe(true);
  }
  for (const extension of ["", "exe", "constructor"]) expect(isKnownExtension(extension)).toBe(false);
});

test("messages list every format with a name", () => {
  expect(FORMAT_NAMES).toBe(
    "PDF, DOCX, XLSX, PPTX, TXT, Markdown, CSV, HTML, IPYNB, JSON, ODT, ODS, ODP, EPUB, RTF, XML, YAML, SRT, VTT, ICS, " +
      "VCF, MBOX, EML, MSG, ZIP, DOC, XLS, PPT, PNG, JPEG, WebP and TIFF",
  );
});
