// Reads a Jupyter notebook (nbformat 3 and 4): its cells in order. Code and outputs are fenced; tables in outputs are
// read like tables of pages.

import { shortTitle } from "../../domain/title.ts";
import { type JsonRecord, parsedJson, recordOrNull, recordsIn } from "../../kit/record.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { countWere } from "../document.ts";
import { fenced, preformatted } from "../html/line.ts";
import { readHtml } from "../html/read-html.ts";
import { jsonText } from "../json/json-text.ts";
import { titleOfName } from "../text/text-file.ts";
import { onOneLine, readable } from "../text-writer.ts";

/** Maximum length of the text of one output, in UTF-16 code units. Logs of training runs have megabytes. */
const OUTPUT_UNITS_MAX = 20_000;

/** The text of a notebook. A file that is no notebook is read as JSON. */
export function notebookText(file: string, filename: string) {
  const notebook = recordOrNull(parsedJson(file));
  const cells = notebook === null ? null : cellsOf(notebook);
  if (notebook === null || cells === null) {
    return {
      pieces: jsonText([file]),
      title: titleOfName(filename),
      warnings: ["The file is no notebook. It was read as JSON."],
    };
  }
  const reader = new NotebookReader(languageOf(notebook));
  for (const cell of cells) reader.read(cell);
  const title = onOneLine(textOf(recordOrNull(notebook.metadata)?.title));
  return {
    pieces: [reader.blocks.join("\n\n")],
    title: title === "" ? null : shortTitle(title),
    warnings: reader.warnings(),
  };
}

class NotebookReader {
  readonly blocks: string[] = [];
  #pictures = 0;
  #cutOutputs = 0;

  constructor(private readonly language: string) {}

  warnings(): readonly string[] {
    const found: string[] = [];
    if (this.#pictures > 0) found.push(`${countWere(this.#pictures, "picture", "of outputs")} not read.`);
    if (this.#cutOutputs > 0) {
      const limit = OUTPUT_UNITS_MAX.toLocaleString("en-US");
      found.push(
        `${countWere(this.#cutOutputs, "output")} read only in part: its beginning and end, ${limit} characters.`,
      );
    }
    return found;
  }

  read(cell: JsonRecord): void {
    const source = textOf(cell.source ?? cell.input).toWellFormed();
    switch (cell.cell_type) {
      case "code":
        if (source.trim() !== "") this.blocks.push(fenced(preformatted(source), this.language));
        for (const output of recordsIn(cell.outputs)) this.#readOutput(output);
        break;
      case "heading":
        this.blocks.push(`${"#".repeat(Math.min(6, Number(cell.level) || 1))} ${onOneLine(source)}`);
        break;
      default:
        // of pictures that are embedded in the text, only the alternative text is kept
        this.#write(readable(source.replace(/!\[([^\]]{0,200})\]\(data:[^)]*\)/g, "$1")));
    }
  }

  #write(text: string): void {
    if (text.trim() !== "") this.blocks.push(text);
  }

  #readOutput(output: JsonRecord): void {
    const data = recordOrNull(output.data) ?? output;
    if (output.output_type === "error" || output.output_type === "pyerr") {
      this.#write(`Error: ${onOneLine(`${textOf(output.ename)}: ${textOf(output.evalue)}`)}`);
      return;
    }
    const page = textOf(data["text/html"] ?? data.html);
    if (/<table[\s>]/i.test(page)) {
      const read = readHtml([page]);
      if (!(read instanceof ReadFailure)) {
        this.#write(read.pieces.join(""));
        return;
      }
    }
    const markdown = textOf(data["text/markdown"]);
    const plain = textOf(data["text/plain"] ?? output.text);
    const latex = textOf(data["text/latex"]);
    const isPicture = Object.keys(data).some((type) => type.startsWith("image/") || type === "png" || type === "jpeg");
    if (isPicture) this.#pictures += 1;
    if (markdown.trim() !== "") this.#write(readable(markdown));
    else if (latex.trim() !== "") this.#write(readable(latex));
    else if (plain.trim() !== "" && !(isPicture && /^<[^<>\n]{0,200}>$/.test(plain.trim()))) {
      this.#write(fenced(preformatted(this.#cut(withoutColours(plain))), ""));
    }
  }

  #cut(text: string): string {
    if (text.length <= OUTPUT_UNITS_MAX) return text;
    this.#cutOutputs += 1;
    const half = OUTPUT_UNITS_MAX / 2;
    return `${text.slice(0, half)}\n…\n${text.slice(-half)}`.toWellFormed();
  }
}

function cellsOf(notebook: JsonRecord): readonly JsonRecord[] | null {
  if (Array.isArray(notebook.cells)) return recordsIn(notebook.cells);
  if (!Array.isArray(notebook.worksheets)) return null;
  return recordsIn(notebook.worksheets).flatMap((sheet) => recordsIn(sheet.cells));
}

function languageOf({ metadata }: JsonRecord): string {
  const found =
    recordOrNull(recordOrNull(metadata)?.language_info)?.name ??
    recordOrNull(recordOrNull(metadata)?.kernelspec)?.language;
  return typeof found === "string" && /^[\w+#-]{1,20}$/.test(found) ? found : "";
}

/** The text of a field: a text, or its lines. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join("") : "";
}

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with one
  return text.replace(/\u001b\[[\d;]{0,20}m/g, "");
}
