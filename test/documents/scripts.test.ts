// Tests how superscripts and subscripts are written: raised numbers never continue a number, and what is raised only by
// custom stays as it is. The cases are read as HTML and as PDF, whose only signs are font size and baseline.

import { describe, expect, test } from "bun:test";
import { READING_LIMITS } from "../../src/documents/budget.ts";
import { readHtml } from "../../src/documents/html/read-html.ts";
import { readPdf } from "../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";
import { partsOf, SCRIPT_CASES } from "./fixtures/scripts.ts";
import { buildPdf, type Drawn } from "./pdf/build-pdf.ts";

function asHtml(written: string): string {
  const body = partsOf(written).map(({ text, level }) => {
    const name = level > 0 ? "sup" : "sub";
    return level === 0 ? text : `<${name}>${text}</${name}>`;
  });
  return `<p>${body.join("")}</p>`;
}

/** A line in which each character is half a font size wide. */
function lineOf(written: string, y: number, { size = 10, share = 0.65, raised = 0.35, lowered = 0.2 } = {}): Drawn[] {
  let x = 60;
  let start = 60;
  return partsOf(written).map(({ text, level }) => {
    const own = level === 0 ? size : share * size;
    if (level > 0) x = Math.max(x, start);
    const drawn = { text, x, y: y - (level > 0 ? raised * size : -Math.max(0, -level) * lowered * size), size: own };
    start = x;
    x += 0.5 * own * text.length;
    return { ...drawn, font: "unicode" as const };
  });
}

async function pdfText(...lines: readonly Drawn[]): Promise<string> {
  const document = await readPdf(buildPdf({ pages: [lines] }));
  if (document instanceof ReadFailure) throw document;
  return document.pieces.join("");
}

function htmlText(page: string): string {
  const document = readHtml([page], READING_LIMITS);
  if (document instanceof ReadFailure) throw document;
  return document.pieces.join("");
}

describe("superscripts and subscripts", () => {
  for (const [written, expected] of SCRIPT_CASES) {
    test(`${written} is read as ${expected}`, async () => {
      expect(htmlText(asHtml(written))).toContain(expected);
      expect(await pdfText(...lineOf(written, 100))).toContain(expected);
      // as another program writes it: larger scripts, raised and lowered by half a font size
      expect(await pdfText(...lineOf(written, 100, { share: 0.8, raised: 0.5, lowered: 0.45 }))).toContain(expected);
    });
  }

  test("a raised mark begins a note, and shows that the same letter is a mark in the text", async () => {
    const note = { text: "a", x: 60, y: 697, size: 5, font: "unicode" } as const;
    const text = { text: "Without the lakes of the north.", x: 63, y: 700, size: 8, font: "unicode" } as const;
    const body = lineOf("The area of 1,284,000{^a} is land.", 100);
    expect(await pdfText(...body, note, text)).toBe(
      "# The area of 1,284,000[a] is land.\n\n[a] Without the lakes of the north.",
    );
  });

  test("a sign that a PDF draws apart from its exponent belongs to it", async () => {
    const small = { y: 96.5, size: 6.5, font: "unicode" } as const;
    const text = await pdfText(
      { text: "The rate of 10", x: 60, y: 100, font: "unicode" },
      { text: "−", x: 130, ...small },
      { text: "5", x: 134.5, ...small, size: 6.4 },
      { text: " is small, and p", x: 138, y: 100, font: "unicode" },
      { text: "+", x: 218, ...small },
      { text: " is a particle.", x: 222, y: 100, font: "unicode" },
    );
    expect(text).toBe("The rate of 10^−5 is small, and p+ is a particle.");
  });

  test("a link to a note makes any mark a note", () => {
    expect(htmlText('<p>10<sup><a href="#n">3</a></sup> and word<sup><a href="#m">*</a></sup>')).toBe(
      "10[3] and word[*]",
    );
  });

  test("fractions are numbers of their own", () => {
    expect(htmlText("<p>1<sup>1</sup>⁄<sub>2</sub> and <sup>3</sup>/<sub>4</sub> cups")).toBe("1 1⁄2 and 3/4 cups");
  });
});

describe("a PDF keeps", () => {
  test("an initial beside the paragraph that it begins", async () => {
    const text = await pdfText(
      { text: "T", x: 60, y: 120, size: 36 },
      { text: "he", x: 84, y: 104, size: 12 },
      { text: "harbour was built.", x: 100, y: 104, size: 12 },
    );
    expect(text).not.toMatch(/[[^_]/);
  });

  test("words in small type and small capitals on the same baseline", async () => {
    const text = await pdfText(
      { text: "The S", x: 60, y: 100, size: 12, font: "unicode" },
      { text: "MALL", x: 90, y: 100, size: 8, font: "unicode" },
      { text: " 42 ", x: 106, y: 100, size: 8, font: "unicode" },
      { text: "house", x: 122, y: 100, size: 12, font: "unicode" },
    );
    expect(text).toBe("The SMALL 42 house");
  });

  test("rotated text, with its superscripts", async () => {
    const upright = lineOf("The count was 10{^6} cells in the harbour of the old town.", 100);
    const text = await pdfText(
      ...upright,
      { text: "Side note 10", x: 500, y: 400, size: 10, degrees: 90, font: "unicode" },
      { text: "5", x: 496.5, y: 340, size: 6.5, degrees: 90, font: "unicode" },
    );
    expect(text).toContain("Side note 10^5");
    expect(text).toContain("10^6 cells");
  });
});
