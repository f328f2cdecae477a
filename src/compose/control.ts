// Answers what commands ask of the process that has the data directory: exports, imports, backups, checks, erasure,
// moves, rebuilt indexes, its state, and MCP. That process is a server, which commands reach through the socket in the
// directory; if no server runs, it is the command itself.

import type { systemView } from "../api/system.ts";
import { Fault } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { ExportError, type ExportRecord, parseExportRecord } from "../domain/project-export.ts";
import type { ReindexEvent } from "../domain/reindex-event.ts";
import type { FilledPart } from "../domain/store-copy.ts";
import type { IndexDefect, OnVerifyProgress, Repair, Verification, VerifyEvent } from "../domain/verification.ts";
import { errorMessage } from "../kit/error-message.ts";
import type { Log } from "../kit/log.ts";
import type { VectorReader } from "../ports/vector-reader.ts";
import type { ForgetRequest, Receipt } from "../services/forget.ts";
import type { StoreCopies, StoreCopy } from "../stores/copies/copies.ts";
import { StoreError } from "../stores/store-error.ts";
import { bodyOf, type Frame, framesAnswer, framesOf, lineOf, linesOf } from "./frames.ts";
import type { PublicationLine, SkippedLine } from "./migration/publications.ts";
import type { Closing } from "./storage.ts";

/** Answers the requests of commands. Whoever can open the data directory may send any of them. */
export type Control = (request: Request) => Promise<Response>;

const NO_ERASURE = "Start the server first: only it can erase what its index holds.";
const NO_SEARCH = "Start the server first: only it can search.";
const NO_STATE = "No server runs on this data directory.";
const NO_REINDEX = "Only a process with models can rebuild indexes.";
const NO_VECTORS = "Start the server first: without it, the vectors of these stores cannot be read.";
const NOT_MOVED = "This process cannot move data: run mneme migrate with the data directory or the database.";
/** Number of UTF-16 code units of lines that are collected before they are sent. */
const CHUNK_CHARACTERS = 256 * 1024;

/** The state of a server, as `GET /system` answers. */
export type SystemAnswer = ReturnType<typeof systemView>;

/** What only a running server can do. */
export interface ServerActions {
  /** Called when memories were imported, which now have to be indexed. */
  readonly wakeIngest: () => void;
  /** Erases a memory, user or project from all stores. */
  readonly forget: (request: ForgetRequest) => Promise<Receipt>;
  /** Removes failed memories from the indexes, and repairs what these lack. */
  readonly repairIndexes: (
    failed: ReadonlyMap<ProjectId, readonly MemoryKey[]>,
    onProgress: OnVerifyProgress,
  ) => Promise<readonly Repair[]>;
  /** The state of the server, as `GET /v1/system` shows it. */
  readonly system: () => Promise<SystemAnswer>;
  /** Id of the embedder of new projects. */
  readonly defaultEmbedder: string;
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
  /** All publications after the one at the place `after`; from the first one if it is empty. */
  readonly publications: (after: string) => AsyncGenerator<Frame<PublicationLine | SkippedLine>>;
}

/** What the answers need. */
export interface ControlOptions {
  /** null if the stores cannot be copied. */
  readonly copies: StoreCopies | null;
  /** null if no server runs. */
  readonly server: ServerActions | null;
  /**
   * Checks the indexes of all projects: in a server the open ones, otherwise copies of their files. null if there are
   * no files to copy.
   */
  readonly verifyIndexes: ((onProgress: OnVerifyProgress) => Promise<readonly IndexDefect[]>) | null;
  /** null if the data cannot be moved by this process. */
  readonly moving?: MovingActions | null;
  /** Reads the vectors of an export; null if this process has no indexes. */
  readonly vectors?: VectorReader | null;
  readonly log: Log;
}

/** Answers the requests of commands. */
export function createControl(options: ControlOptions): Control {
  const { copies, server, log, moving = null, vectors = null } = options;
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    try {
      if (copies === null) return refusal("These stores cannot be exported.", 501);
      switch (`${request.method} ${pathname}`) {
        case "GET /export":
          return await streamed(
            copies.export(
              searchParams.get("project"),
              searchParams.has("vectors") ? needed(vectors, NO_VECTORS) : null,
            ),
          );
        case "GET /backup":
          return framesAnswer(framesOfCopy(await copies.copy(searchParams.get("index") === "1")));
        case "GET /verify":
          return ndjson(reporting((onProgress) => verification(copies, options, onProgress)));
        case "POST /verify":
          return ndjson(reporting((onProgress) => repaired(copies, options, onProgress)));
        case "POST /close":
          return Response.json({ id: await needed(moving, NOT_MOVED).closing.closeToChanges() });
        case "POST /reopen":
          await needed(moving, NOT_MOVED).closing.reopen();
          return Response.json({});
        case "GET /publications":
          return framesAnswer(needed(moving, NOT_MOVED).publications(searchParams.get("after") ?? ""));
        case "POST /import":
          return Response.json(await copies.import(recordsOf(request)).finally(() => server?.wakeIngest()));
        case "POST /forget":
          return Response.json(await needed(server, NO_ERASURE).forget((await request.json()) as ForgetRequest));
        case "GET /system":
          return Response.json(await needed(server, NO_STATE).system());
        case "GET /default-embedder":
          return Response.json({ id: needed(server, NO_STATE).defaultEmbedder });
        case "POST /mcp":
          return await needed(server, NO_SEARCH).mcp(request);
        case "POST /reindex": {
          const [project, rate] = [searchParams.get("project"), searchParams.get("rate")];
          const events = await needed(server, NO_REINDEX).reindex(project, rate === null ? null : Number(rate));
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
      return refusal(errorMessage(error), isForOperator(error) ? 400 : 500);
    }
  };
}

/** Returns the part `what`, which a request needs. @throws Fault `invalid_state` with `sentence` if it is null */
function needed<T>(what: T | null, sentence: string): T {
  if (what === null) throw new Fault("invalid_state", sentence);
  return what;
}

/** Checks the stores of record, and the indexes of all projects. */
async function verification(
  copies: StoreCopies,
  { verifyIndexes }: Pick<ControlOptions, "verifyIndexes">,
  onProgress: OnVerifyProgress,
): Promise<Verification> {
  const report = await copies.verify(onProgress);
  const index = (await verifyIndexes?.(onProgress)) ?? [];
  return { ...report, is_sound: report.is_sound && index.length === 0, index };
}

/** Repairs, then checks. Without a server, the indexes are only checked. */
async function repaired(
  copies: StoreCopies,
  { server, verifyIndexes }: Pick<ControlOptions, "server" | "verifyIndexes">,
  onProgress: OnVerifyProgress,
): Promise<Verification> {
  const { repairs, failed } = await copies.repair(onProgress);
  const ofIndexes = (await server?.repairIndexes(failed, onProgress)) ?? [];
  const report = await verification(copies, { verifyIndexes }, onProgress);
  return { ...report, repairs: [...repairs, ...ofIndexes] };
}

/**
 * Events of a check or repair, each as a line of JSON. Progress that was not read yet is replaced by later progress.
 */
async function* reporting(work: (onProgress: OnVerifyProgress) => Promise<Verification>): AsyncGenerator<Uint8Array> {
  const line = (event: VerifyEvent) => lineOf(event);
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

/** Events of a rebuild, each as a line of JSON; then the line `{"type":"end"}`. */
async function* linesFor(events: AsyncGenerator<ReindexEvent>): AsyncGenerator<Uint8Array> {
  for await (const event of events) yield lineOf(event);
  yield lineOf({ type: "end" });
}

/** An answer with these lines. Rejects if the first one cannot be made; a later failure becomes the last line. */
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

/** The value of a frame of a copy: first its summary, then one for each part. */
export type CopyFrame = StoreCopy["summary"] | FilledPart["part"];

async function* framesOfCopy({ summary, parts }: StoreCopy): AsyncGenerator<Frame<CopyFrame>> {
  yield { value: summary, bytes: [] };
  for await (const { part, bytes } of parts) yield { value: part, bytes: [bytes] };
}

/** Reads an answer with a copy of the stores. @throws Error if it has no summary */
export async function readCopy(response: Response): Promise<StoreCopy> {
  const frames = framesOf<CopyFrame>(response);
  const first = await frames.next();
  if (first.done) throw new Error("The server answered without a copy of its stores.");
  async function* parts(): AsyncGenerator<FilledPart> {
    for await (const { value, bytes } of frames) {
      yield { part: value as FilledPart["part"], bytes: bytes[0] ?? new Uint8Array() };
    }
  }
  return { summary: first.value.value as StoreCopy["summary"], parts: parts() };
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

function refusal(message: string, status: number): Response {
  return Response.json({ error: message }, { status });
}

function isForOperator(error: unknown): boolean {
  return error instanceof ExportError || error instanceof Fault || error instanceof StoreError;
}
