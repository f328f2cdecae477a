// `mneme import`: stores a file of memories or documents in a running server, through the public API only. Documents
// with ids are not stored twice if an import is repeated, because their ids become `externalId`s.

import { LIMITS } from "../domain/limits.ts";
import { isExportHeader } from "../domain/project-export.ts";
import { errorMessage } from "../kit/error-message.ts";
import { parseJson } from "../kit/exact-json.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { readLines } from "../kit/lines.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";
import { BatchSender, type ImportSummary, Tally } from "./batch-sender.ts";
import { Client } from "./client.ts";
import { DEFAULT_URL, serverAddress } from "./server-address.ts";
import { Progress, readableDuration } from "./terminal.ts";

/** Options of an import. */
export interface ImportOptions {
  readonly file: string;
  /** Base address without `/v1`. */
  readonly url: string;
  readonly key: string;
  /** Number of memories per request, 1..100. */
  readonly batch: number;
  /** `userId` for lines without one. */
  readonly userId: string | null;
  /** Whether to wait until everything is searchable. */
  readonly waits: boolean;
}

/** Help for the flags, as `[flag, description]`. */
export const IMPORT_HELP: readonly (readonly [string, string])[] = [
  ["--url URL", `Address of the server (default: ${DEFAULT_URL})`],
  ["--key KEY", "API key; MNEME_API_KEY or MNEME_ADMIN_KEY is safer, since other users can read command lines"],
  ["--batch NUMBER", `Memories per request, 1 to ${LIMITS.memoriesPerBatch} (default: ${LIMITS.memoriesPerBatch})`],
  ["--user ID", "userId for lines without one"],
  ["--wait", "Wait until everything is searchable"],
];

/** Milliseconds between two polls while waiting. */
const POLL_MS = 500;
/** The remaining memories are counted only once in this many polls. */
const POLLS_PER_COUNT = 4;

/**
 * Parses the command line of `mneme import`.
 * @throws UsageError with one line that names what is missing or wrong
 */
export function parseImportOptions(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ImportOptions {
  const { flags, positionals } = parseCommandLine(argv, TARGET_FLAGS);
  const [file, surplus] = positionals;
  if (file === undefined) throw new UsageError("Missing file. Usage: mneme import FILE.jsonl[.gz]");
  if (surplus !== undefined)
    throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}: import takes one file.`);
  const target = parseTarget(flags, environment);
  if (target.key === null) throw new UsageError("Missing API key: set MNEME_API_KEY or use --key.");
  return { file, ...target, key: target.key };
}

/** The flags that importing a file and importing from another product have in common. */
export const TARGET_FLAGS = {
  "--url": "value",
  "--key": "value",
  "--batch": "value",
  "--user": "value",
  "--wait": "switch",
} as const;

/** Options that say where memories are stored. `key` is null if none is given. */
export type ImportTarget = Omit<ImportOptions, "file" | "key"> & { readonly key: string | null };

/** Reads the options of `TARGET_FLAGS`. @throws UsageError with one line that names what is wrong */
export function parseTarget(
  flags: ReadonlyMap<string, string>,
  environment: Readonly<Record<string, string | undefined>>,
): ImportTarget {
  const url = serverAddress(flags.get("--url") ?? DEFAULT_URL);
  const batch = Number(flags.get("--batch") ?? LIMITS.memoriesPerBatch);
  if (!Number.isInteger(batch) || batch < 1 || batch > LIMITS.memoriesPerBatch) {
    throw new UsageError(`--batch must be an integer from 1 to ${LIMITS.memoriesPerBatch}.`);
  }
  return {
    url,
    key: flags.get("--key") ?? environment.MNEME_API_KEY ?? environment.MNEME_ADMIN_KEY ?? null,
    batch,
    userId: flags.get("--user") ?? null,
    waits: flags.has("--wait"),
  };
}

/**
 * Converts a line to a createMemory body. The line is such a body itself (it has `content`), or a document in the
 * format of the BEIR collections (`_id`, `title`, `text`, `metadata`), whose id becomes `externalId`.
 * @throws Error that says what is wrong with the line
 */
export function memoryOfLine(text: string, userId: string | null): JsonRecord {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw new Error("is not valid JSON", { cause });
  }
  if (!isRecord(value)) throw new Error("is not a JSON object");
  if ("content" in value) return userId === null ? value : { ...value, userId: value.userId ?? userId };
  if (!("text" in value)) throw new Error("has neither `content` nor `text`");

  const { _id: id = null, title, text: body, metadata } = value;
  if (id !== null && typeof id !== "string" && typeof id !== "number")
    throw new Error("has an `_id` that is neither a string nor a number");
  if (body === "" && !title) throw new Error("has no text");
  const { userId: owner, ...attributes } = isRecord(metadata) ? metadata : {};
  const ownerId = owner ?? userId;
  return {
    // A document may consist of a title only.
    content: body === "" && typeof title === "string" ? title : body,
    ...(typeof title === "string" && title !== "" ? { title } : {}),
    ...(id === null ? {} : { externalId: String(id) }),
    ...(ownerId === null ? {} : { userId: ownerId }),
    ...(Object.keys(attributes).length === 0 ? {} : { metadata: attributes }),
  };
}

/**
 * Stores the lines of the file and shows the progress on standard error.
 * @throws Error if the file cannot be read or the server cannot be reached
 */
export async function importFile(options: ImportOptions): Promise<ImportSummary> {
  const client = new Client(options.url, options.key);
  const failedBefore = options.waits ? await newestFailed(client) : null;
  const progress = new Progress("importing");
  const startedAt = performance.now();
  const tally = new Tally(progress);
  const sender = new BatchSender(client, options.batch, tally);
  for await (const line of readLines(options.file)) {
    let memory: JsonRecord;
    try {
      memory = memoryOfLine(line.text, options.userId);
    } catch (error) {
      tally.refuse(`line ${line.number}`, errorMessage(error));
      continue;
    }
    await sender.add({ place: `line ${line.number}`, memory }, line.text.length);
    const seconds = (performance.now() - startedAt) / 1000;
    progress.show(line.shareRead, `${tally.stored} stored, ${Math.round(tally.stored / seconds)} per second`);
  }
  await sender.finish();

  progress.finish(`${tally.summary()} in ${readableDuration(performance.now() - startedAt)}`);
  if (options.waits) await waitUntilSearchable(client, failedBefore);
  return tally;
}

/**
 * Waits until no memory is in status `processing`.
 * @param failedBefore id of the newest memory that had failed before the import; null if none had
 * @throws Error if another memory has failed since
 */
export async function waitUntilSearchable(client: Client, failedBefore: unknown): Promise<void> {
  const progress = new Progress("waiting until everything is searchable:");
  const startedAt = performance.now();
  const countedFirst = await processingMemories(client);
  let left = countedFirst;
  for (let poll = 1; ; poll++) {
    const page = await client.send("GET", "/v1/memories?status=processing&limit=1");
    if (!Array.isArray(page.data) || page.data.length === 0) break;
    if (poll % POLLS_PER_COUNT === 0) left = await processingMemories(client);
    const share = countedFirst === null || left === null ? null : Math.max(0, 1 - left / countedFirst);
    progress.show(share, left === null ? readableDuration(performance.now() - startedAt) : `${left} in progress`);
    await client.clock.sleep(POLL_MS);
  }
  const failed = await newestFailed(client);
  if (failed !== failedBefore) {
    progress.finish("no memory is in progress");
    throw new Error(
      `Some memories failed, most recently ${failed}. See GET /v1/memories?status=failed for the reasons.`,
    );
  }
  progress.finish(`everything is searchable after another ${readableDuration(performance.now() - startedAt)}`);
}

// Number of memories of the project in status `processing`; null if the server does not tell, as one of before.
async function processingMemories(client: Client): Promise<number | null> {
  try {
    const { count } = await client.send("GET", "/v1/memories/count?status=processing");
    return typeof count === "number" ? count : null;
  } catch {
    return null; // the import must not fail because progress is unknown
  }
}

/** The id of the newest memory that failed; null if there is none. */
export async function newestFailed(client: Client): Promise<unknown> {
  const { data } = await client.send("GET", "/v1/memories?status=failed&limit=1");
  return Array.isArray(data) && isRecord(data[0]) ? data[0].id : null;
}

/** Whether a file is an export of a project, of any version, which project-copy.ts imports. */
export async function isExportFile(path: string): Promise<boolean> {
  for await (const { text } of readLines(path)) return isExportHeader(text);
  return false;
}
