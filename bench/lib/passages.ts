// Large sets of passages, used to measure the speed of search.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";
import { ingestLines, type ServerContent } from "./served-collection.ts";

/** Book passages of about 900 characters, in BEIR format. */
export const PASSAGES_FILE = resolve(import.meta.dir, "../../../shared/data/scale/passages_132k.jsonl.gz");

/**
 * The content of a server with the first passages of a file.
 * @throws UsageError if the file does not exist; Error on a line without an id
 */
export async function passagesContent(file: string, countMax: number): Promise<ServerContent> {
  if (!existsSync(file)) throw new UsageError(`${file} does not exist; give a file of passages with --passages.`);
  const lines: string[] = [];
  const externalIds = new Set<string>();
  for await (const line of readLines(file)) {
    if (lines.length >= countMax) break;
    const passage: unknown = JSON.parse(line.text);
    if (!isRecord(passage) || passage._id === undefined) throw new Error(`${file}: line ${line.number} has no _id`);
    externalIds.add(String(passage._id));
    lines.push(line.text);
  }
  return {
    name: `${lines.length} passages`,
    directory: `passages-${lines.length}`,
    externalIds,
    fill: (server) => ingestLines(server, lines),
  };
}
