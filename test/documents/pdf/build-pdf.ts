// Builds uncompressed PDFs, so that each test itself contains the content of its file. Supports the parts of ISO
// 32000-1 that tests need.

/** Text on a page. */
export interface Drawn {
  readonly text: string;
  /** Start of the baseline, measured from the left and upper edge of a page of 600 by 800 points. */
  readonly x: number;
  readonly y: number;
  readonly size?: number;
  /**
   * `text` and `bold` are Helvetica; `unicode` has all characters, each half a font size wide; `symbols` has no mapping
   * to characters.
   */
  readonly font?: "text" | "bold" | "unicode" | "symbols" | "shift-jis";
  /** Counterclockwise rotation. */
  readonly degrees?: number;
}

/** An annotation. Its area is measured from the left and upper edge of the page. */
export interface Annotated {
  readonly entries: string;
  readonly x: number;
  readonly y: number;
  readonly width?: number;
  readonly height?: number;
}

/** Content of a PDF. */
export interface PdfPlan {
  readonly pages: readonly (readonly Drawn[])[];
  readonly title?: string;
  readonly bookmarks?: readonly string[];
  /** Entries of the annotations of the first page, without `/Type` and `/Rect`. Fields are in the form of the file. */
  readonly annotations?: readonly Annotated[];
  /** Operators that draw lines on each page, in the coordinates of the file. */
  readonly drawing?: string;
  /** Whether each page has a picture. */
  readonly hasPicture?: boolean;
  /** Whether the file is encrypted with an unknown password. */
  readonly isLocked?: boolean;
  readonly rotate?: number;
  /** How often the pages are repeated. */
  readonly copies?: number;
  /** Whether the list of pages ends with a page that the file does not contain. */
  readonly isLastLost?: boolean;
}

const FONTS = { text: "F1", bold: "F2", unicode: "F3", symbols: "F4", "shift-jis": "F5" } as const;

/** Builds the file. */
export function buildPdf(plan: PdfPlan): Uint8Array {
  const objects: string[] = [];
  const add = (body: string) => objects.push(body);
  const stream = (body: string, entries = "") =>
    add(`<< /Length ${body.length} ${entries} >>\nstream\n${body}\nendstream`);

  const characters = [...new Set(plan.pages.flat().flatMap(({ text, font }) => (font === "unicode" ? [...text] : [])))];
  const [catalog, pageTree] = [add(""), add("")];
  const system = (registry: string) => `/CIDSystemInfo << /Registry (Adobe) /Ordering (${registry}) /Supplement 0 >>`;
  const cid = add(`<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any ${system("Identity")} /DW 500 >>`);
  const japanese = add(`<< /Type /Font /Subtype /CIDFontType2 /BaseFont /MS-Gothic ${system("Japan1")} /DW 1000 >>`);
  const toUnicode = stream(toUnicodeMap(characters));
  const fonts = [
    add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"),
    add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>"),
    add(
      `<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [${cid} 0 R] /ToUnicode ${toUnicode} 0 R >>`,
    ),
    add(`<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [${cid} 0 R] >>`),
    add(
      `<< /Type /Font /Subtype /Type0 /BaseFont /MS-Gothic /Encoding /90ms-RKSJ-H /DescendantFonts [${japanese} 0 R] >>`,
    ),
  ].map((font, at) => `/F${at + 1} ${font} 0 R`);
  const image = "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray";
  const pictures = plan.hasPicture === true ? `/P1 ${stream("\0", image)} 0 R` : "";

  const annotations = (plan.annotations ?? []).map(({ entries, x, y, width = 100, height = 14 }) =>
    add(`<< /Type /Annot /Rect [${x} ${800 - y} ${x + width} ${800 - y + height}] ${entries} >>`),
  );
  const isField = (at: number) => plan.annotations?.[at]?.entries.includes("/Widget") === true;
  const fields = annotations.filter((_, at) => isField(at)).map((object) => `${object} 0 R`);
  const pages = plan.pages.map((drawn, at) => {
    const picture = plan.hasPicture === true ? "q 600 0 0 800 0 0 cm /P1 Do Q\n" : "";
    const paint = `${picture}${plan.drawing ?? ""}\n`;
    const content = stream(`${paint}BT\n${drawn.map((each) => drawingOperators(each, characters)).join("\n")}\nET`);
    const resources = `/Resources << /Font << ${fonts.join(" ")} >> /XObject << ${pictures} >> >>`;
    return add(
      `<< /Type /Page /Parent ${pageTree} 0 R /MediaBox [0 0 600 800] /Rotate ${plan.rotate ?? 0} /Contents ${content} 0 R ${resources} ${at === 0 && annotations.length > 0 ? `/Annots [${annotations.map((object) => `${object} 0 R`).join(" ")}]` : ""} >>`,
    );
  });
  const all = Array.from({ length: plan.copies ?? 1 }, () => pages).flat();
  if (plan.isLastLost === true) all.push(objects.length + 100);
  const kids = all.map((page) => `${page} 0 R`).join(" ");
  objects[pageTree - 1] = `<< /Type /Pages /Count ${all.length} /Kids [${kids}] >>`;
  const outline = plan.bookmarks === undefined ? null : addOutline(plan.bookmarks, pages[0] ?? 0, add, objects);
  objects[catalog - 1] =
    `<< /Type /Catalog /Pages ${pageTree} 0 R ${outline === null ? "" : `/Outlines ${outline} 0 R`} ${fields.length === 0 ? "" : `/AcroForm << /Fields [${fields.join(" ")}] >>`} >>`;
  const info = add(`<< ${plan.title === undefined ? "" : `/Title ${literal(plan.title)}`} >>`);
  const key = "00".repeat(32);
  const lock = plan.isLocked === true ? add(`<< /Filter /Standard /V 1 /R 2 /O <${key}> /U <${key}> /P -4 >>`) : null;
  return assembleFile(
    objects,
    `/Root ${catalog} 0 R /Info ${info} 0 R ${lock === null ? "" : `/Encrypt ${lock} 0 R`} /ID [<00> <00>]`,
  );
}

/** Lines of Helvetica, 1.2 font sizes apart. */
export function lines(texts: readonly string[], x: number, y: number, size = 10): readonly Drawn[] {
  return texts.map((text, at) => ({ text, x, y: y + at * 1.2 * size, size }));
}

function assembleFile(objects: readonly string[], trailer: string): Uint8Array {
  let file = "%PDF-1.7\n";
  const offsets: number[] = [];
  for (const [at, body] of objects.entries()) {
    offsets.push(file.length);
    file += `${at + 1} 0 obj\n${body}\nendobj\n`;
  }
  const entries = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}`;
  const end = `trailer\n<< /Size ${objects.length + 1} ${trailer} >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Uint8Array.from(Buffer.from(file + table + end, "latin1"));
}

function drawingOperators(
  { text, x, y, size = 10, font = "text", degrees = 0 }: Drawn,
  characters: readonly string[],
): string {
  const radians = (degrees * Math.PI) / 180;
  const [cos, sin] = [Math.cos(radians).toFixed(6), Math.sin(radians).toFixed(6)];
  return `/${FONTS[font]} ${size} Tf ${cos} ${sin} ${-Number(sin)} ${cos} ${x} ${800 - y} Tm ${codes(text, font, characters)} Tj`;
}

function codes(text: string, font: Drawn["font"], characters: readonly string[]): string {
  const hex = (values: readonly number[], digits: number) =>
    `<${values.map((value) => value.toString(16).padStart(digits, "0")).join("")}>`;
  if (font === "unicode")
    return hex(
      [...text].map((character) => characters.indexOf(character) + 1),
      4,
    );
  // writes glyphs 1, 2, 3, …, which have no mapping to characters
  if (font === "symbols")
    return hex(
      [...text].map((_, at) => (at % 7) + 1),
      4,
    );
  // the text is already given in hexadecimal
  return font === "shift-jis" ? `<${text}>` : literal(text);
}

function literal(text: string): string {
  return `(${text.replace(/[\\()]/g, "\\$&")})`;
}

function toUnicodeMap(characters: readonly string[]): string {
  const code = (value: number) => value.toString(16).padStart(4, "0");
  const entries = characters.map((character, at) => {
    const units = Array.from({ length: character.length }, (_, unit) => code(character.charCodeAt(unit)));
    return `<${code(at + 1)}> <${units.join("")}>`;
  });
  return `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def
1 begincodespacerange <0000> <ffff> endcodespacerange
${entries.map((entry) => `1 beginbfchar ${entry} endbfchar`).join("\n")}
endcmap end end`;
}

function addOutline(titles: readonly string[], page: number, add: (body: string) => number, objects: string[]): number {
  const root = add("");
  const first = root + 1;
  for (const [at, title] of titles.entries()) {
    const next = at + 1 < titles.length ? `/Next ${first + at + 1} 0 R` : "";
    add(`<< /Title ${literal(title)} /Parent ${root} 0 R /Dest [${page} 0 R /Fit] ${next} >>`);
  }
  objects[root - 1] = `<< /First ${first} 0 R /Last ${first + titles.length - 1} 0 R /Count ${titles.length} >>`;
  return root;
}
