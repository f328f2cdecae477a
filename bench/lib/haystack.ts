// Large sets of unrelated passages, used to measure the speed of search and to mix them with judged collections.

import { cpSync, existsSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";
import { collectionContent, ingestCollection, ingestLines, type ServerContent, serve } from "./served-collection.ts";

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

/**
 * The content of a server with a collection and unrelated passages. Embedding the passages takes long, so they are
 * ingested once into a data directory of their own. The data directory of each mixture starts as a copy of it.
 * @param data folder of data directories
 */
export async function haystackContent(
  set: string,
  folder: string,
  hay: ServerContent,
  data: string,
): Promise<ServerContent> {
  const needles = await collectionContent(set, folder);
  const directory = `${set}-in-${hay.directory}`;
  if (!existsSync(join(data, directory))) {
    await (await serve(hay, data)).stop(); // creates and checks the directory, then closes it
    // The copy has a temporary name until it is complete, so that a later run does not use an incomplete copy.
    const unfinished = `${directory}.unfinished`;
    rmSync(join(data, unfinished), { recursive: true, force: true });
    cpSync(join(data, hay.directory), join(data, unfinished), { recursive: true });
    {
      await using server = await serve({ ...hay, directory: unfinished }, data);
      process.stderr.write(`${set}: ingesting among ${hay.name}\n`);
      await ingestCollection(server, folder);
    }
    renameSync(join(data, unfinished), join(data, directory));
  }
  return {
    name: `${set} in ${hay.name}`,
    directory,
    externalIds: new Set([...hay.externalIds, ...needles.externalIds]),
    fill: () => Promise.reject(new Error(`${directory} is created by copying and never filled`)),
  };
}
