// Notes in a folder, such as a vault of Obsidian: each Markdown file becomes a memory, its front matter the attributes.

import { type Dirent, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join, relative, sep } from "node:path";
import { errorMessage } from "../kit/error-message.ts";
import { isRecord } from "../kit/record.ts";
import type { Found } from "./imported.ts";
import { externalIdOf, Mapping, storable } from "./mapping.ts";
import type { ReportShare } from "./source-files.ts";

const NOTE = /\.(md|markdown|mdown)$/i;
/** Maximum size of a note; the API takes no larger memory either. */
const NOTE_BYTES_MAX = 100 * 1024 * 1024;
/** Maximum length of front matter, in UTF-16 code units. */
const FRONT_MATTER_UNITS_MAX = 65_536;
/** Maximum depth of folders. */
const DEPTH_MAX = 64;

/**
 * The notes of a folder, in the order of their paths. Hidden files and folders, such as `.obsidian`, and folders below
 * `DEPTH_MAX` are not read, and links of the file system are not followed.
 * @throws Error if the folder cannot be read, or has no notes
 */
export function* foundInFolder(folder: string, report: ReportShare): Generator<Found> {
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is no folder.`);
  const others: string[] = [];
  const notes = [...filesIn(folder, 0)].filter((path) => {
    if (NOTE.test(path)) return true;
    others.push(path);
    return false;
  });
  if (notes.length === 0) throw new Error(`${folder} has no Markdown files (.md).`);
  for (const path of others) {
    yield {
      kind: "skipped",
      place: placeOf(folder, path),
      why: `no Markdown file (${extname(path) || "no extension"})`,
    };
  }
  for (const [at, path] of notes.entries()) {
    report(at / notes.length);
    yield* noteOf(path, placeOf(folder, path));
  }
}

function* filesIn(folder: string, depth: number): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith("."));
  entries.sort((a: Dirent, b: Dirent) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && depth < DEPTH_MAX) yield* filesIn(path, depth + 1);
  }
}

function placeOf(folder: string, path: string): string {
  return relative(folder, path).split(sep).join("/");
}

function* noteOf(path: string, place: string): Generator<Found> {
  const damaged = (why: string): Found => ({ kind: "damaged", place, why });
  let text: string;
  try {
    if (statSync(path).size > NOTE_BYTES_MAX) return yield damaged(`is larger than ${NOTE_BYTES_MAX} bytes`);
    text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const isText = error instanceof TypeError;
    return yield damaged(isText ? "is not valid UTF-8" : `cannot be read: ${String(error)}`);
  }
  const { fields, body, problem } = splitNote(text);
  if (problem !== null) return yield damaged(problem);
  if (body.trim() === "") return yield { kind: "skipped", place, why: "note without text" };
  const mapping = new Mapping({ path: place, body, file: basename(path).replace(NOTE, ""), ...fields }, place);
  mapping.set("content", storable(body), "body");
  mapping.title("title", "file");
  mapping.ignore("file");
  mapping.tags("tags", "tag", "keywords");
  mapping.time("occurred_at", "date", "created", "created_at", "datetime");
  mapping.text("language", "lang", "language");
  mapping.id("userId", "userId");
  mapping.member("path", place, "path");
  for (const name of Object.keys(fields)) {
    if (!mapping.isRead(name)) mapping.member(name, plain(mapping.peek(name)), name);
  }
  yield* mapping.found("markdown", externalIdOf("path", place, place));
}

interface SplitNote {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly problem: string | null;
}

/** Front matter and text of a note. Front matter that is no YAML object is a problem, not text. */
function splitNote(text: string): SplitNote {
  const match = /^\uFEFF?---[ \t]*\r?\n/.exec(text);
  if (match === null) return { fields: {}, body: text.replace(/^\uFEFF/, ""), problem: null };
  const rest = text.slice(match[0].length);
  const end = /^(---|\.\.\.)[ \t]*(\r?\n|$)/m.exec(rest.slice(0, FRONT_MATTER_UNITS_MAX));
  // a thematic break, as `---` is outside of front matter
  if (end === null) return { fields: {}, body: text, problem: null };
  const body = rest.slice(end.index + end[0].length);
  const yaml = rest.slice(0, end.index);
  if (yaml.trim() === "") return { fields: {}, body, problem: null };
  try {
    const fields: unknown = Bun.YAML.parse(yaml);
    if (isRecord(fields)) return { fields, body, problem: null };
    return { fields: {}, body, problem: "has front matter that is no list of names and values" };
  } catch (error) {
    const why = errorMessage(error);
    return { fields: {}, body, problem: `has front matter that is no valid YAML: ${why}` };
  }
}

// Dates as text, because metadata is JSON.
function plain(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}
