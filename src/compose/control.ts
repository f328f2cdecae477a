// What commands ask of the process that has the data directory: exports, imports, backups, erasure, reindexing. The
// process is a server, which a command reaches through the socket in the directory, or the command itself, if no
// server runs.

import { Fault } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { ExportError, type ExportRecord, parseExportRecord } from "../domain/project-export.ts";
import type { ReindexEvent } from "../domain/reindex-event.ts";
import type { StorePart, StoreSummary } from "../domain/store-copy.ts";
import type { IndexDefect, OnVerifyProgress, Repair, Verification, VerifyEvent } from "../domain/verification.ts";
import type { Log } from "../kit/log.ts";
import type { StoreKeeper, VectorReader } from "../ports/store-keeper.ts";
import { StoreError } from "../stores/store-error.ts";
import type { ForgetRequest, Receipt } from "./forget.ts";
import type { PackedPublication } from "./migration/publications.ts";
import type { Closing } from "./storage.ts";

/** Answers the requests of commands. Whoever can open the data directory may send any of them. */
export type Control = (request: Request) => Promise<Response>;

const NO_VECTORS = "Start the server first: without it, the vectors of these stores cannot be read.";
const NOT_MOVED = "This process cannot move data: run mneme migrate with the data directory or the database.";
/** Length of the text that is sent at once. */
const CHUNK_CHARACTERS = 256 * 1024;
/** Time in milliseconds after which an answer ends that nobody reads. */
const UNREAD_MS_MAX = 10 * 60 * 1000;

/** What only a running server can do. */
export interface ServerActions {
  /** Called when there are new memories to index. */
  readonly wakeIngest: () => void;
  readonly forget: (request: ForgetRequest) => Promise<Receipt>;
  /** Removes failed memories from the indexes, and repairs what these lack. */
  readonly repairIndexes: (
    failed: ReadonlyMap<ProjectId, readonly MemoryKey[]>,
    onProgress: OnVerifyProgress,
  ) => Promise<readonly Repair[]>;
  /** Answers an MCP request of whoever can open the data directory; see local-caller.ts. */
  readonly mcp: (request: Request) => Promise<Response>;
  /**
   * Rebuilds the indexes of a project, or of all.
   * @param chunksPerSecond null: the server's setting
   * @throws Fault `project_not_found`
   */
  readonly reindex: (project: string | null, chunksPerSecond: number | null) => Promise<AsyncGenerator<ReindexEvent>>;
}

/** What a move of the data to another store needs (migration/to-postgres.ts). */
export interface MovingActions {
  readonly closing: Closing;
  /** All publications after the one at a place. */
  readonly publications: (after: string) => AsyncGenerator<PackedPublication>;
}

/** What answers the requests. */
export interface ControlParts {
  /** null if the stores cannot be copied. */
  readonly keeper: StoreKeeper | null;
  /** null if no server runs. */
  readonly server: ServerActions | null;
  /** Checks the indexes of all projects: the open ones, or copies. */
  readonly verifyIndexes: ((onProgress: OnVerifyProgress) => Promise<readonly IndexDefect[]>) | null;
  /** null if the data cannot be moved by this process. */
  readonly moving?: MovingActions | null;
  /** Reads the vectors of an export; null if this process has no indexes. */
  readonly vectors?: VectorReader | null;
  readonly log: Log;
}

/** Answers the requests of commands with these parts. */
export function createControl(parts: ControlParts): Control {
  const { keeper, server, log, moving = null, vectors = null } = parts;
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    try {
      if (keeper === null) return refusal("These stores cannot be exported.", 501);
      switch (`${request.method} ${pathname}`) {
        case "GET /export":
          if (!searchParams.has("vectors")) return await streamed(keeper.export(searchParams.get("project"), null));
          if (vectors === null) return refusal(NO_VECTORS, 400);
          return await streamed(keeper.export(searchParams.get("project"), vectors));
        case "GET /backup":
          return copied(await keeper.copy(searchParams.get("index") === "1"));
        case "GET /verify":
          return ndjson(reporting((onProgress) => verification(keeper, parts, onProgress)));
        case "POST /verify":
          return ndjson(reporting((onProgress) => repaired(keeper, parts, onProgress)));
        case "POST /close":
          if (moving === null) return refusal(NOT_MOVED, 400);
          return Response.json({ id: await moving.closing.closeToChanges() });
        case "POST /reopen":
          if (moving === null) return refusal(NOT_MOVED, 400);
          await moving.closing.reopen();
          return Response.json({});
        case "GET /publications":
          if (moving === null) return refusal(NOT_MOVED, 400);
          return published(moving.publications(searchParams.get("after") ?? ""));
        case "POST /import":
          return Response.json(await keeper.import(recordsOf(request)).finally(() => server?.wakeIngest()));
        case "POST /forget":
          if (server === null) return refusal("Start the server first: only it can erase what its index holds.", 400);
          return Response.json(await server.forget((await request.json()) as ForgetRequest));
        case "POST /mcp":
          if (server === null) return refusal("Start the server first: only it can search.", 400);
          return await server.mcp(request);
        case "POST /reindex": {
          if (server === null) return refusal("Only a process with models can rebuild indexes.", 400);
          const rate = searchParams.get("rate");
          const events = await server.reindex(searchParams.get("project"), rate === null ? null : Number(rate));
          return ndjson(linesFor(events));
        }
        default:
          return refusal(
            `This version of Mneme cannot ${request.method} ${pathname}: use the same version for both.`,
            404,
          );
      }
    } catch (error) {
      if (!isForOperator(error)) log.error({ err: error }, "a request of a command failed");
      return refusal(messageOf(error), isForOperator(error) ? 400 : 500);
    }
  };
}

/** The stores of record, and the indexes of all projects. */
async function verification(
  keeper: StoreKeeper,
  { verifyIndexes }: Pick<ControlParts, "verifyIndexes">,
  onProgress: OnVerifyProgress,
): Promise<Verification> {
  const report = await keeper.verify(onProgress);
  const index = (await verifyIndexes?.(onProgress)) ?? [];
  return { ...report, is_sound: report.is_sound && index.length === 0, index };
}

/** Repairs, then checks. Without a server, the indexes are only checked. */
async function repaired(
  keeper: StoreKeeper,
  { server, verifyIndexes }: Pick<ControlParts, "server" | "verifyIndexes">,
  onProgress: OnVerifyProgress,
): Promise<Verification> {
  const { repairs, failed } = await keeper.repair(onProgress);
  const ofIndexes = (await server?.repairIndexes(failed, onProgress)) ?? [];
  const report = await verification(keeper, { verifyIndexes }, onProgress);
  return { ...report, repairs: [...repairs, ...ofIndexes] };
}

/** An answer with publications: lines, each followed by the bytes of its parts. */
function published(publications: AsyncGenerator<PackedPublication>): Response {
  const line = (value: PackedPublication["line"] | { readonly type: "end" }) =>
    new TextEncoder().encode(`${JSON.stringify(value)}\n`);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const publication of publications) {
      yield Buffer.concat([line(publication.line), ...publication.bytes]);
    }
    yield line({ type: "end" });
  }
  return new Response(bodyOf(pieces()), { headers: { "content-type": "application/octet-stream" } });
}

/** Events of a check as lines. Progress that nobody has read yet is replaced by later progress. */
async function* reporting(work: (onProgress: OnVerifyProgress) => Promise<Verification>): AsyncGenerator<Uint8Array> {
  const line = (event: VerifyEvent) => new TextEncoder().encode(`${JSON.stringify(event)}\n`);
  let latest: VerifyEvent | null = null;
  let wake: () => void = () => undefined;
  const working = work((phase, done, total) => {
    latest = { type: "progress", phase, done, total };
    wake();
  });
  const ended = working.then(
    () => true,
    () => true,
  );
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    wake = () => resolve(false);
    const hasEnded = await Promise.race([ended, latest === null ? promise : Promise.resolve(false)]);
    if (hasEnded) break;
    const event: VerifyEvent | null = latest;
    latest = null;
    if (event !== null) yield line(event);
  }
  yield line({ type: "report", report: await working });
}

function ndjson(lines: AsyncGenerator<Uint8Array>): Response {
  return new Response(bodyOf(lines), { headers: { "content-type": "application/x-ndjson" } });
}

/** Each event as a line, which is sent at once; then a last line. */
async function* linesFor(events: AsyncGenerator<ReindexEvent>): AsyncGenerator<Uint8Array> {
  const line = (value: object) => new TextEncoder().encode(`${JSON.stringify(value)}\n`);
  for await (const event of events) yield line(event);
  yield line({ type: "end" });
}

/** A failure after the first byte was sent: the last line of a stream. */
export interface StreamFailure {
  readonly type: "error";
  readonly message: string;
}

/** An answer with lines. A failure before the first line rejects; a later one becomes the last line. */
async function streamed(lines: AsyncGenerator<string>): Promise<Response> {
  const first = await lines.next();
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    let pending = first.done ? "" : first.value;
    for await (const line of lines) {
      pending += line;
      if (pending.length < CHUNK_CHARACTERS) continue;
      yield encoder.encode(pending);
      pending = "";
    }
    yield encoder.encode(pending);
  }
  return new Response(bodyOf(pieces()), { headers: { "content-type": "application/x-ndjson" } });
}

/** First line of a copy of the stores. */
export interface CopyHeader {
  readonly type: "copy";
  readonly summary: StoreSummary;
}
/** Line before the bytes of a part. */
export interface CopyPart {
  readonly type: "part";
  readonly part: StorePart;
  readonly bytes: number;
}
/** Last line of a complete copy. */
export interface CopyEnd {
  readonly type: "end";
  readonly parts: number;
}
/** A line of a copy. */
export type CopyLine = CopyHeader | CopyPart | CopyEnd | StreamFailure;

/** An answer with a copy of the stores: lines, each line of a part followed by its bytes. */
function copied({ summary, parts }: Awaited<ReturnType<StoreKeeper["copy"]>>): Response {
  const line = (value: CopyLine) => new TextEncoder().encode(`${JSON.stringify(value)}\n`);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield line({ type: "copy", summary });
    let count = 0;
    for await (const { part, bytes } of parts) {
      count += 1;
      yield line({ type: "part", part, bytes: bytes.length });
      yield bytes;
    }
    yield line({ type: "end", parts: count });
  }
  return new Response(bodyOf(pieces()), { headers: { "content-type": "application/octet-stream" } });
}

/**
 * A body with these pieces. A failure becomes its last line. If nobody reads for a while, the pieces end, so that a
 * command that hangs does not hold a snapshot for ever.
 */
export function bodyOf(pieces: AsyncGenerator<Uint8Array>, unreadMsMax = UNREAD_MS_MAX): ReadableStream<Uint8Array> {
  let timer: Timer | null = null;
  const stopTimer = () => {
    if (timer !== null) clearTimeout(timer);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        stopTimer();
        try {
          const next = await pieces.next();
          if (next.done) return controller.close();
          controller.enqueue(next.value);
          timer = setTimeout(() => {
            controller.error(new Error("the command did not read"));
            void pieces.return(undefined);
          }, unreadMsMax);
        } catch (error) {
          const failure: StreamFailure = { type: "error", message: messageOf(error) };
          controller.enqueue(new TextEncoder().encode(`${JSON.stringify(failure)}\n`));
          controller.close();
        }
      },
      async cancel() {
        stopTimer();
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The records in a body: one per line. */
async function* recordsOf(request: Request): AsyncGenerator<ExportRecord> {
  let number = 0;
  for await (const line of linesOf(request.body)) {
    number += 1;
    try {
      yield parseExportRecord(line);
    } catch (error) {
      throw error instanceof ExportError ? new ExportError(`record ${number}: ${error.message}`) : error;
    }
  }
}

/** The lines of a stream of bytes, without their line ends. */
export async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of body) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    for (const [at, part] of parts.entries()) {
      pieces.push(part);
      if (at === parts.length - 1) break;
      yield pieces.join("");
      pieces = [];
    }
  }
  const last = pieces.join("") + decoder.decode();
  if (last !== "") yield last;
}

function refusal(message: string, status: number): Response {
  return Response.json({ error: message }, { status });
}

function isForOperator(error: unknown): boolean {
  return error instanceof ExportError || error instanceof Fault || error instanceof StoreError;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
