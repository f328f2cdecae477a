// The judged set of long documents: which texts it is made of, and which chunks of them answer a question.
// Its questions are in bench/fixtures/long-documents; the texts are not in the repository.

import { existsSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { isRecord } from "../../src/cli/client.ts";
import { readLines } from "../../src/cli/lines.ts";
import { readFileText } from "../../src/documents/read-file.ts";
import { UsageError } from "../../src/kit/flags.ts";

/** Files of test data by their projects, under `documents/`. */
const FILES = [
  "huge/pdf.js__freeculture.pdf",
  "huge/unstructured__DA-619p.pdf",
  "normal/docling__redp5110_sampled.pdf",
  "normal/docling__multi_page.pdf",
  "normal/docling__wiki_duck.html",
  "normal/markitdown__test_wikipedia.html",
  "normal/markitdown__test_blog.html",
  "normal/pdf.js__TAMReview.pdf",
  "normal/pdf.js__tracemonkey.pdf",
  "normal/unstructured__layout-parser-paper-with-table.pdf",
  "normal/unstructured__multi-column.pdf",
  "normal/unstructured__reliance.pdf",
] as const;

/** Books in the public domain by their titles, in `scale/passages_132k.jsonl.gz`. */
const BOOKS = [
  "Common Sense - Thomas Paine",
  "Second Variety - Philip K. Dick",
  "The Adventure of the Priory School - Arthur Conan Doyle",
  "The Naval Treaty - Arthur Conan Doyle",
  "The Story of Doctor Dolittle - Hugh Lofting",
] as const;

/** Of these the beginning is enough: all of the codex would be as much as the rest together. */
const CHARACTERS_MAX: Readonly<Record<string, number>> = { "unstructured__DA-619p.pdf": 600_000 };

const PASSAGES = "scale/passages_132k.jsonl.gz";
const QUESTIONS = join(import.meta.dir, "../fixtures/long-documents/questions.jsonl");
/** Every third question chooses between variants; the others say what the choice is worth. */
const DEV_EVERY = 3;

/** A question whose answer stands in a known place. */
export interface LongDocumentQuestion {
  readonly id: string;
  readonly text: string;
  /** The document by its name: of a file without folder, of a book its title. */
  readonly document: string;
  /** Words of the document that answer it, standing there once. */
  readonly evidence: string;
  readonly split: "dev" | "test";
}

/** The questions, in the file's order. @throws Error on a line in another form. */
export async function longDocumentQuestions(): Promise<readonly LongDocumentQuestion[]> {
  const names = new Set<string>([...FILES.map((file) => basename(file)), ...BOOKS]);
  const questions: LongDocumentQuestion[] = [];
  for await (const line of readLines(QUESTIONS)) {
    const value: unknown = JSON.parse(line.text);
    const { text, document, evidence } = isRecord(value) ? value : {};
    if (typeof text !== "string" || typeof document !== "string" || typeof evidence !== "string") {
      throw new Error(`${QUESTIONS}: line ${line.number} needs text, document and evidence`);
    }
    if (!names.has(document)) throw new Error(`${QUESTIONS}: line ${line.number} is about an unknown document`);
    const split = line.number % DEV_EVERY === 0 ? "dev" : "test";
    questions.push({ id: String(line.number), text, document, evidence, split });
  }
  return questions;
}

/** A document as it is stored. */
export interface LongDocument {
  readonly name: string;
  /** Of a file the one that it has beside its text; null: to be found in the text. */
  readonly title: string | null;
  readonly content: string;
}

/**
 * The documents, read as ingest reads them.
 * @param folder with `documents/` and `scale/`.
 * @throws UsageError when a file is not there.
 */
export async function longDocuments(folder: string): Promise<readonly LongDocument[]> {
  const files = FILES.map((file) => join(folder, "documents", file));
  const missing = [...files, join(folder, PASSAGES)].find((path) => !existsSync(path));
  if (missing !== undefined) throw new UsageError(`${missing} does not exist; name the data's folder with --from.`);
  const documents: LongDocument[] = [];
  for (const path of files) documents.push(await fileDocument(path));
  return [...documents, ...(await books(join(folder, PASSAGES)))];
}

async function fileDocument(path: string): Promise<LongDocument> {
  const name = basename(path);
  const mediaType = name.endsWith(".pdf") ? "application/pdf" : "text/html";
  const read = await readFileText({ path, bytes: statSync(path).size, filename: name, mediaType });
  if (read instanceof Error) throw read;
  const content = read.pieces.join("");
  return { name, title: read.title, content: content.slice(0, CHARACTERS_MAX[name]) };
}

async function books(path: string): Promise<readonly LongDocument[]> {
  const passages = new Map<string, string[]>(BOOKS.map((title) => [title, []]));
  for await (const line of readLines(path)) {
    const value: unknown = JSON.parse(line.text);
    if (isRecord(value) && typeof value.text === "string") passages.get(String(value.title))?.push(value.text);
  }
  return [...passages].map(([title, texts]) => {
    return { name: title, title, content: texts.map(withHeadingLines).join("\n\n") };
  });
}

/**
 * A passage of a book without what stands above its text, and with its headings on lines of their own again. White space was made one
 * space when the passages were cut; a heading of a chapter ends where the first word with a small letter begins.
 */
function withHeadingLines(passage: string): string {
  const text = passage.replace(/^# Title: .*? ------- /u, "");
  return text.replaceAll(
    /\s*(## (?:[^\p{Ll}\s]+ )+)(?=\S*\p{Ll})/gu,
    (_, heading: string) => `\n\n${heading.trimEnd()}\n\n`,
  );
}

/**
 * The chunks that hold the evidence of a question, by their place in `chunks`: every time that it stands there, the one with most
 * of it. White space counts as one space. @throws Error when it stands nowhere.
 */
export function chunksWithEvidence(
  evidence: string,
  content: string,
  chunks: readonly { readonly start: number; readonly end: number }[],
): readonly number[] {
  const { text, points } = withSingleSpaces(content);
  const sought = withSingleSpaces(evidence).text.trim();
  const found = new Set<number>();
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + 1)) {
    const start = points[at] ?? 0;
    const end = (points[at + sought.length - 1] ?? 0) + 1;
    const shares = chunks.map((chunk) => Math.min(end, chunk.end) - Math.max(start, chunk.start));
    const most = Math.max(...shares);
    if (most > 0) found.add(shares.indexOf(most));
  }
  if (found.size === 0) throw new Error(`no chunk holds ${JSON.stringify(evidence)}`);
  return [...found];
}

/** A text with one space for each run of white space, and for each of its units the code point of the original at which it stands. */
function withSingleSpaces(content: string): { readonly text: string; readonly points: readonly number[] } {
  const parts: string[] = [];
  const points: number[] = [];
  let point = 0;
  for (const character of content) {
    const isSpace = /\s/u.test(character);
    if (!isSpace || parts.at(-1) !== " ") {
      parts.push(isSpace ? " " : character);
      for (let unit = 0; unit < character.length; unit++) points.push(point);
    }
    point++;
  }
  return { text: parts.join(""), points };
}
