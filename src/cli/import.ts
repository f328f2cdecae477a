// `mneme import`: stores a file of memories or documents in a running server, through the public API only. Repeating an
// import changes nothing, because a document's id becomes its `externalId`, which a project stores only once.

import { LIMITS } from "../domain/limits.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { Client, isRecord, type JsonRecord, RequestRefused } from "./client.ts";
import { readLines } from "./lines.ts";
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
  ["--url URL", "Address of the server (default: http://127.0.0.1:8383)"],
  ["--key KEY", "API key; MNEME_API_KEY or MNEME_ADMIN_KEY is safer, since other users can read command lines"],
  ["--batch NUMBER", `Memories per request, 1 to ${LIMITS.memoriesPerBatch} (default: ${LIMITS.memoriesPerBatch})`],
  ["--user ID", "userId for lines without one"],
  ["--wait", "Wait until everything is searchable"],
];

/** Maximum size of a request in characters, well below the API's limit of 100 MB. */
const BATCH_CHARACTERS_MAX = 8 * 1024 * 1024;
/**
 * Number of concurrent requests. With more than one, the next request is read and sent while the server stores the
 * previous one.
 */
const REQUESTS_MAX = 2;
/** Number of problems that are printed; further ones are only counted. */
const PROBLEMS_SHOWN_MAX = 20;
/** Milliseconds between two polls while waiting. */
const POLL_MS = 500;
/** The remaining memories are counted only once in this many polls. */
const POLLS_PER_COUNT = 4;
const METRICS_TIMEOUT_MS = 5_000;

/**
 * Parses the command line of `mneme import`.
 * @throws UsageError with one line that names what is missing or wrong
 */
export function parseImportOptions(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ImportOptions {
  const { flags, positionals } = parseCommandLine(argv, {
    "--url": "value",
    "--key": "value",
    "--batch": "value",
    "--user": "value",
    "--wait": "switch",
  });
  const [file, surplus] = positionals;
  if (file === undefined) throw new UsageError("Missing file. Usage: mneme import FILE.jsonl[.gz]");
  if (surplus !== undefined)
    throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}: import takes one file.`);
  const key = flags.get("--key") ?? environment.MNEME_API_KEY ?? environment.MNEME_ADMIN_KEY;
  if (key === undefined) throw new UsageError("Missing API key: set MNEME_API_KEY or use --key.");
  const url = flags.get("--url") ?? "http://127.0.0.1:8383";
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new UsageError(`--url must be an http or https address, not ${JSON.stringify(url)}.`);
  }
  const batch = Number(flags.get("--batch") ?? LIMITS.memoriesPerBatch);
  if (!Number.isInteger(batch) || batch < 1 || batch > LIMITS.memoriesPerBatch) {
    throw new UsageError(`--batch must be an integer from 1 to ${LIMITS.memoriesPerBatch}.`);
  }
  return {
    file,
    url: url.replace(/\/+$/, "").replace(/\/v1$/, ""),
    key,
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
    value = JSON.parse(text);
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

/** Number of lines by outcome. */
export interface ImportSummary {
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
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
  const inFlight = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let batch: Draft[] = [];
  let batchCharacters = 0;

  const sendBatch = async () => {
    const drafts = batch;
    batch = [];
    batchCharacters = 0;
    if (inFlight.size >= REQUESTS_MAX) await Promise.race(inFlight);
    if (failures.length > 0) throw failures[0];
    const sending = store(client, drafts, tally).then(
      () => void inFlight.delete(sending),
      (error: unknown) => {
        inFlight.delete(sending);
        failures.push(error); // thrown later: requests fail in the background while lines are read
      },
    );
    inFlight.add(sending);
  };

  for await (const line of readLines(options.file)) {
    try {
      batch.push({ line: line.number, memory: memoryOfLine(line.text, options.userId) });
      batchCharacters += line.text.length;
    } catch (error) {
      tally.refuse(line.number, error instanceof Error ? error.message : String(error));
    }
    if (batch.length >= options.batch || batchCharacters >= BATCH_CHARACTERS_MAX) await sendBatch();
    const seconds = (performance.now() - startedAt) / 1000;
    progress.show(line.shareRead, `${tally.stored} stored, ${Math.round(tally.stored / seconds)} per second`);
  }
  if (batch.length > 0) await sendBatch();
  await Promise.all(inFlight);
  if (failures.length > 0) throw failures[0];

  progress.finish(`${tally.summary()} in ${readableDuration(performance.now() - startedAt)}`);
  if (options.waits) await waitUntilSearchable(client, failedBefore);
  return tally;
}

interface Draft {
  /** Number of the line in the file. */
  readonly line: number;
  readonly memory: JsonRecord;
}

class Tally implements ImportSummary {
  created = 0;
  updated = 0;
  refused = 0;

  constructor(private readonly progress: Progress) {}

  get stored(): number {
    return this.created + this.updated;
  }

  refuse(line: number, why: string): void {
    this.refused++;
    if (this.refused <= PROBLEMS_SHOWN_MAX) this.progress.finish(`line ${line} ${why}`);
    if (this.refused === PROBLEMS_SHOWN_MAX) this.progress.finish("further refused lines are not shown");
  }

  summary(): string {
    return `${this.created} created, ${this.updated} updated, ${this.refused} refused`;
  }
}

async function store(client: Client, drafts: readonly Draft[], tally: Tally): Promise<void> {
  let items: readonly unknown[];
  try {
    const answer = await client.send("POST", "/v1/memories/batch", { memories: drafts.map(({ memory }) => memory) });
    items = Array.isArray(answer.data) ? answer.data : [];
  } catch (error) {
    // The whole batch was refused. Sending the items one by one shows the reason for each.
    if (!(error instanceof RequestRefused) || (error.status !== 400 && error.status !== 413)) throw error;
    if (drafts.length > 1) {
      for (const draft of drafts) await store(client, [draft], tally);
    } else {
      tally.refuse(drafts[0]?.line ?? 0, `was refused: ${error.message}`);
    }
    return;
  }
  for (const [at, draft] of drafts.entries()) {
    const item = items[at];
    const memory = isRecord(item) && isRecord(item.memory) ? item.memory : null;
    if (memory === null) {
      const error =
        isRecord(item) && isRecord(item.error) ? item.error.message : "the server returned no result for it";
      tally.refuse(draft.line, `was refused: ${String(error)}`);
    } else if (memory.created_at === memory.updated_at) tally.created++;
    else tally.updated++;
  }
}

/**
 * Waits until no memory is in status `processing`.
 * @throws Error if a memory newer than `failedBefore` (an id) failed
 */
async function waitUntilSearchable(client: Client, failedBefore: unknown): Promise<void> {
  const progress = new Progress("waiting until everything is searchable:");
  const startedAt = performance.now();
  const countedFirst = await processingMemories(client.url);
  let left = countedFirst;
  for (let poll = 1; ; poll++) {
    const page = await client.send("GET", "/v1/memories?status=processing&limit=1");
    if (!Array.isArray(page.data) || page.data.length === 0) break;
    if (poll % POLLS_PER_COUNT === 0) left = await processingMemories(client.url);
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

// Number of memories in status `processing`; null if the metrics are not accessible. The API does not count memories by
// status. The metrics do, but for all projects together.
async function processingMemories(url: string): Promise<number | null> {
  try {
    const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(METRICS_TIMEOUT_MS) });
    const count = /^mneme_memories\{status="processing"\} (\d+)/m.exec(response.ok ? await response.text() : "")?.[1];
    return count === undefined ? null : Number(count);
  } catch {
    return null; // the import must not fail because progress is unknown
  }
}

async function newestFailed(client: Client): Promise<unknown> {
  const { data } = await client.send("GET", "/v1/memories?status=failed&limit=1");
  return Array.isArray(data) && isRecord(data[0]) ? data[0].id : null;
}
