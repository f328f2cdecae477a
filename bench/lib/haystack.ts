// Passages that answer nothing, in great number: what search is fast in, and what judged collections are hidden in.

import { cpSync, existsSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { isRecord } from "../../src/cli/client.ts";
import { readLines } from "../../src/cli/lines.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { collectionHolding, type Holding, ingestCollection, ingestLines, serve } from "./served-collection.ts";

/** Book passages of about 900 characters in BEIR's layout. */
export const PASSAGES_FILE = resolve(import.meta.dir, "../../../shared/data/scale/passages_132k.jsonl.gz");

/**
 * The first passages of a file as what a server is to hold.
 * @param countMax at most so many.
 * @throws UsageError when there is no such file; Error on a line without an id.
 */
export async function passagesHolding(file: string, countMax: number): Promise<Holding> {
  if (!existsSync(file)) throw new UsageError(`No passages at ${file}; name a file with --passages.`);
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
 * A collection among passages as what a server is to hold. Passages take long to embed and are the same for every collection:
 * the directory begins as a copy of theirs, which is filled once.
 * @param data folder of kept data directories.
 */
export async function haystackHolding(set: string, folder: string, hay: Holding, data: string): Promise<Holding> {
  const needles = await collectionHolding(set, folder);
  const directory = `${set}-in-${hay.directory}`;
  if (!existsSync(join(data, directory))) {
    await (await serve(hay, data)).stop(); // filled, and shut in good order
    // under another name until it is whole, so that what an interrupted run left is not taken for it
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
    fill: () => Promise.reject(new Error(`${directory} is made by copying`)),
  };
}
