// The judged collection of long documents: its documents, its questions, and the chunks that answer a question.
// The questions are in bench/fixtures/long-documents; the documents are not in the repository.

import { existsSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { readFileText } from "../../src/documents/read-file.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";

/** Files below the folder `documents`. They are named after the projects that use them as test data. */
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

/** Titles of books in the public domain, stored in `scale/passages_132k.jsonl.gz`. */
const BOOKS = [
  "Common Sense - Thomas Paine",
  "Second Variety - Philip K. Dick",
  "The Adventure of the Priory School - Arthur Conan Doyle",
  "The Naval Treaty - Arthur Conan Doyle",
  "The Story of Doctor Dolittle - Hugh Lofting",
] as const;

/**
 * Maximum length of documents of which only the beginning is used. Such a document is as long as all others together.
 */
const CHARACTERS_MAX: Readonly<Record<string, number>> = { "unstructured__DA-619p.pdf": 600_000 };

const PASSAGES = "scale/passages_132k.jsonl.gz";
const QUESTIONS = join(import.meta.dir, "../fixtures/long-documents/questions.jsonl");
/** Every third question is used to choose a variant; the other questions measure the chosen variant. */
const DEV_EVERY = 3;

/** A question whose answer is at a known place of a document. */
export interface LongDocumentQuestion {
  readonly id: string;
  readonly text: string;
  /** Name of the document: the filename, or the title of a book. */
  readonly document: string;
  /** Words of the document that answer the question. The document contains them once. */
  readonly evidence: string;
  readonly split: "dev" | "test";
}

/** The questions in the order of the file. @throws Error if a line is invalid */
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

/** A document to store. */
export interface LongDocument {
  readonly name: string;
  /** Title from the file's metadata, or title of the book; null if the title must be extracted from the text. */
  readonly title: string | null;
  readonly content: string;
}

/**
 * Reads the documents, in the same way as ingestion.
 * @param folder contains `documents/` and `scale/`.
 * @throws UsageError if a file is missing
 */
export async function longDocuments(folder: string): Promise<readonly LongDocument[]> {
  const files = FILES.map((file) => join(folder, "documents", file));
  const missing = [...files, join(folder, PASSAGES)].find((path) => !existsSync(path));
  if (missing !== undefined)
    throw new UsageError(`${missing} does not exist; pass the folder of the data with --from.`);
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
 * Returns a passage of a book without its title line and with its headings on separate lines. The passages were stored
 * with all white space as single spaces. A chapter heading ends before the first word with a lower-case letter.
 */
function withHeadingLines(passage: string): string {
  const text = passage.replace(/^# Title: .*? ------- /u, "");
  return text.replaceAll(
    /\s*(## (?:[^\p{Ll}\s]+ )+)(?=\S*\p{Ll})/gu,
    (_, heading: string) => `\n\n${heading.trimEnd()}\n\n`,
  );
}

/**
 * Finds the chunks that contain the evidence of a question, as indexes in `chunks`. If an occurrence spans several
 * chunks, the chunk with its largest part counts. A run of white space is equal to one space.
 * @throws Error if the evidence does not occur
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

/**
 * Replaces each run of white space in a text by one space. `points` has, for each UTF-16 code unit of the result, its
 * position in the original text, in Unicode code points.
 */
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
