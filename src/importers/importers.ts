// The one list of importers, and how each source is read: a file, a folder, or a product's server.

import type { Clock } from "../kit/clock.ts";
import { CHATGPT } from "./chatgpt.ts";
import { CLAUDE } from "./claude.ts";
import { GRAPHITI } from "./graphiti.ts";
import { HINDSIGHT } from "./hindsight.ts";
import type { Found, Importer, SourceRecord } from "./imported.ts";
import { foundInFolder } from "./markdown-folder.ts";
import { MEM0 } from "./mem0.ts";
import { type ReportShare, recordsOfPath } from "./source-files.ts";
import { recordsOfServer } from "./source-server.ts";
import { SUPERMEMORY } from "./supermemory.ts";
import { ZEP } from "./zep.ts";

const IMPORTERS: Readonly<Record<string, Importer>> = {
  mem0: MEM0,
  zep: ZEP,
  graphiti: GRAPHITI,
  supermemory: SUPERMEMORY,
  hindsight: HINDSIGHT,
  chatgpt: CHATGPT,
  claude: CLAUDE,
};
const MARKDOWN_FOLDER = "markdown-folder";

/** Names of all sources that can be imported from. */
export const SOURCE_NAMES: readonly string[] = [...Object.keys(IMPORTERS), MARKDOWN_FOLDER];

/** What is imported, and how the reading is shown. */
export interface ImportSource {
  /** One of `SOURCE_NAMES`. */
  readonly from: string;
  /** Path or http(s) address. */
  readonly source: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly report: ReportShare;
}

/** Whether a source is the address of a server. */
export function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** Whether the server of a product can be read. */
export function readsServers(from: string): boolean {
  return Object.hasOwn(IMPORTERS, from) && IMPORTERS[from]?.server !== null;
}

/**
 * Everything in a source, in its order.
 * @throws Error if the source cannot be read or has nothing to read; SourceError if a server cannot be read at all
 */
export async function* foundIn({ from, source, environment, clock, report }: ImportSource): AsyncGenerator<Found> {
  const importer = Object.hasOwn(IMPORTERS, from) ? IMPORTERS[from] : undefined;
  if (importer === undefined) {
    yield* foundInFolder(source, report);
    return;
  }
  const keyVariable = importer.server?.keyVariable;
  const key = keyVariable === undefined ? null : (environment[keyVariable] ?? null);
  const records: AsyncGenerator<SourceRecord> = isAddress(source)
    ? recordsOfServer({ url: source, key, clock }, importer)
    : recordsOfPath(source, importer, report);
  for await (const record of records) {
    if (record.kind === "record") yield* importer.read(record);
    else yield record;
  }
}
