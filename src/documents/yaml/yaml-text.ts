// Converts YAML to searchable text, like JSON: one line `path: value` per value. Values stay as they are written:
// `1.10` is no number, and `no` is no truth value. Comments are kept. The library parses; json/json-text.ts writes the
// lines.

import { isAlias, isMap, isPair, isScalar, isSeq, type Node, type Pair, parseAllDocuments, visit } from "yaml";
import { isRecord } from "../../kit/record.ts";
import { jsonText } from "../json/json-text.ts";

/**
 * Maximum length of a file that is parsed, in UTF-16 code units. The library needs about a hundred bytes of memory per
 * character; longer files are returned unchanged.
 */
const UNITS_MAX = 4 * 1024 * 1024;
/** Maximum number of characters that aliases may repeat, so that a small file cannot become a huge one. */
const ALIASED_UNITS_MAX = 1024 * 1024;
const DEPTH_MAX = 200;
/** Key under which a comment is written. */
const COMMENT = "#";
/** Key whose value is a map with further entries. */
const MERGE = "<<";

/** The text of a YAML file. A file that is no valid YAML is returned unchanged. */
export function yamlText(file: string): { readonly pieces: readonly string[]; readonly warnings: readonly string[] } {
  if (file.length > UNITS_MAX) {
    const warning = `The structure was not read: a YAML file may have at most ${UNITS_MAX / 1024 / 1024} million characters for that. Its text was.`;
    return { pieces: [file], warnings: [warning] };
  }
  try {
    const documents = parseAllDocuments(file, {
      schema: "failsafe",
      strict: false,
      uniqueKeys: false,
      logLevel: "silent",
    });
    const values = "empty" in documents ? [] : documents.filter(({ contents }) => contents !== null);
    const broken = values.flatMap(({ errors }) => errors)[0];
    if (broken !== undefined) return unchanged(file, broken.message);
    const writer = new ValueWriter();
    const lines = values.map((document) => {
      writer.anchorsOf(document.contents as Node);
      return JSON.stringify(writer.valueOf(document.contents as Node, document.commentBefore, 0));
    });
    return { pieces: jsonText([lines.join("\n")]), warnings: [] };
  } catch (error) {
    return unchanged(file, error instanceof Error ? error.message : "");
  }
}

function unchanged(file: string, message: string) {
  const reason = message.split("\n")[0]?.replace(/:$/, "").slice(0, 200) ?? "";
  return { pieces: [file], warnings: [`The structure was not read, because the file is no valid YAML: ${reason}.`] };
}

/** Converts parsed nodes to values of JSON, whose scalars are texts. */
class ValueWriter {
  readonly #anchors = new Map<string, Node>();
  #aliasedUnits = 0;
  #aliasDepth = 0;

  anchorsOf(root: Node): void {
    this.#anchors.clear();
    visit(root, (_, node) => {
      const anchor = (node as { readonly anchor?: string }).anchor;
      if (anchor !== undefined && !this.#anchors.has(anchor)) this.#anchors.set(anchor, node as Node);
    });
  }

  valueOf(node: unknown, comment: string | null | undefined, depth: number): unknown {
    if (depth > DEPTH_MAX) throw new Error(`it is nested deeper than ${DEPTH_MAX} levels`);
    if (isMap(node)) return this.#mapOf(node.items, [comment, node.commentBefore, node.comment], depth);
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#itemOf(item, depth));
      const notes = notesOf([comment, node.commentBefore, node.comment]);
      return notes === "" ? items : [notes, ...items];
    }
    if (isAlias(node)) return this.#aliased(node.source, depth);
    if (!isScalar(node)) return "";
    const text = String(node.value ?? "").trimEnd();
    if (this.#aliasDepth > 0) this.#count(text.length);
    const notes = notesOf([comment, node.commentBefore, node.comment]);
    return notes === "" ? text : `${text} (# ${notes})`.trim();
  }

  #itemOf(item: unknown, depth: number): unknown {
    return isPair(item) ? this.#mapOf([item], [], depth) : this.valueOf(item, null, depth + 1);
  }

  #mapOf(pairs: readonly Pair[], comments: readonly (string | null | undefined)[], depth: number): unknown {
    const value = new Map<string, unknown>();
    const merged = new Map<string, unknown>();
    const notes = notesOf(comments);
    if (notes !== "") value.set(COMMENT, notes);
    for (const pair of pairs) {
      const key = this.#keyOf(pair.key, depth);
      const before = (pair.key as { readonly commentBefore?: string } | null)?.commentBefore;
      const written = this.valueOf(pair.value, before, depth + 1);
      if (key === MERGE && isRecord(written)) {
        for (const [name, each] of Object.entries(written)) merged.set(name, each);
      }
      // a key that is repeated keeps all its values
      else if (!value.has(key)) value.set(key, written);
      else value.set(key, [value.get(key), written].flat());
    }
    for (const [name, each] of merged) if (!value.has(name)) value.set(name, each);
    return Object.fromEntries(value);
  }

  #keyOf(key: unknown, depth: number): string {
    const value = isScalar(key) ? key.value : this.valueOf(key, null, depth + 1);
    return typeof value === "string" ? value : JSON.stringify(value);
  }

  #aliased(name: string, depth: number): unknown {
    const node = this.#anchors.get(name);
    if (node === undefined) return `*${name}`;
    this.#count(name.length + 1);
    this.#aliasDepth += 1;
    const value = this.valueOf(node, null, depth + 1);
    this.#aliasDepth -= 1;
    return value;
  }

  #count(units: number): void {
    this.#aliasedUnits += units;
    if (this.#aliasedUnits > ALIASED_UNITS_MAX) throw new Error("its aliases repeat too much text");
  }
}

function notesOf(comments: readonly (string | null | undefined)[]): string {
  return comments
    .flatMap((comment) => comment?.split("\n") ?? [])
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}
