// `mneme export`, and `mneme import` of an exported project. They copy all that a project owns to a file and back, on a
// data directory, whether or not a server runs on it. import.ts imports files of memories through the API.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { createGzip } from "node:zlib";
import { openDataDirectory } from "../compose/data-directory.ts";
import { linesOf, type StreamFailure } from "../compose/frames.ts";
import {
  EXPORT_TYPES,
  ExportError,
  type ExportHeader,
  parseExportEnd,
  parseExportHeader,
  parseExportRecord,
} from "../domain/project-export.ts";
import { systemClock } from "../kit/clock.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { readLines } from "../kit/lines.ts";
import { createLog } from "../kit/log.ts";
import { isRecord } from "../kit/record.ts";
import { type CommandStart, directoryConfig } from "./command-start.ts";
import { Progress, readableDuration } from "./terminal.ts";

/** Matches lines that continue a record. The counts in the header of an export leave them out. */
const PARTS_OF_RECORDS = /^\{"type":"(file|vectors)"/;

/**
 * Runs `mneme export FILE`. The file gets its name when it is complete.
 * @returns the text to print
 * @throws Error with one sentence; no file is left then
 */
export async function exportProject(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--project": "value", "--data-dir": "value", "--config": "value", "--vectors": "switch", "--force": "switch" },
  });
  const file = onlyFile(positionals, "mneme export FILE.jsonl[.gz]");
  if (existsSync(file) && !flags.has("--force")) {
    throw new UsageError(`${file} exists: choose another name, or use --force to replace it.`);
  }
  const query = new URLSearchParams();
  const named = flags.get("--project");
  if (named !== undefined) query.set("project", named);
  const hasVectors = flags.has("--vectors");
  if (hasVectors) query.set("vectors", "1");
  const open = hasVectors ? await openerWithIndexes() : openDataDirectory;
  await using directory = await open(directoryConfig(flags, start), systemClock, createLog("warn"));
  const response = await directory.ask("GET", `/export?${query}`);
  const startedAt = performance.now();
  const { records, bytes } = await writeLines(response, file);
  const seconds = readableDuration(performance.now() - startedAt);
  return `Exported ${records} ${records === 1 ? "record" : "records"} (${bytes} bytes) to ${file} in ${seconds}.`;
}

/**
 * Imports a file that `mneme export` wrote, as a new project with the same ids. First checks the whole file.
 * @returns the text to print
 * @throws Error with one sentence; nothing was imported then
 */
export async function importProject(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, { "--data-dir": "value", "--config": "value" });
  const file = onlyFile(positionals, "mneme import EXPORT.jsonl[.gz] [--data-dir DIRECTORY]");
  const { counts } = await checkExport(file);
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  await using directory = await openDataDirectory(directoryConfig(flags, start), systemClock, createLog("warn"));
  const response = await directory.ask("POST", "/import", recordLines(file, new Progress("importing")));
  const result: unknown = await response.json();
  const id = isRecord(result) ? String(result.projectId) : "";
  const when = directory.isServed ? "now" : "when a server starts";
  return [
    `Project ${id} is imported: ${total} records. Its memories are indexed ${when}.`,
    `API keys are not part of an export; create one: mneme keys create --project ${id} --name NAME --scopes '*'`,
  ].join("\n");
}

/**
 * Reads an export to its end.
 * @throws Error that names the line that is wrong; nothing was changed then
 */
export async function checkExport(file: string): Promise<ExportHeader> {
  const progress = new Progress("checking");
  const hash = createHash("sha256");
  const found: Record<string, number> = Object.fromEntries(EXPORT_TYPES.map((type) => [type, 0]));
  let header: ExportHeader | null = null;
  let lines = 0;
  let hasEnded = false;
  for await (const { number, text, shareRead } of readLines(file)) {
    try {
      if (hasEnded) throw new ExportError("there is more text after the last record");
      if (header === null) {
        header = parseExportHeader(text);
        continue;
      }
      const end = text.startsWith('{"type":"end"') ? parseExportEnd(text) : null;
      if (end !== null) {
        if (end.lines !== lines) throw new ExportError(`the file has ${lines} records, but should have ${end.lines}`);
        if (end.sha256 !== hash.digest("hex"))
          throw new ExportError("the file was changed or damaged after its export");
        hasEnded = true;
        continue;
      }
      const { type } = parseExportRecord(text);
      found[type] = (found[type] ?? 0) + 1;
      hash.update(`${text}\n`);
      lines += 1;
    } catch (error) {
      if (!(error instanceof ExportError)) throw error;
      throw new UsageError(`${file}, line ${number}: ${error.message}. Nothing was imported.`, { cause: error });
    }
    progress.show(shareRead, `${lines} records`);
  }
  if (header === null || !hasEnded) {
    throw new UsageError(`${file} is incomplete: its last line is missing. Nothing was imported.`);
  }
  for (const [type, count] of Object.entries(header.counts)) {
    if (found[type] === count) continue;
    throw new UsageError(`${file} has ${found[type]} records of type ${type}, but should have ${count}.`);
  }
  return header;
}

async function openerWithIndexes() {
  // imported only when it is needed, because it loads models and their libraries
  return (await import("../compose/migration/source-directory.ts")).openSourceDirectory;
}

async function writeLines(
  response: Response,
  file: string,
): Promise<{ readonly records: number; readonly bytes: number }> {
  const partial = `${file}.partial`;
  const target = createWriteStream(partial, { mode: 0o600 });
  const sink = file.endsWith(".gz") ? createGzip() : target;
  if (sink !== target) sink.pipe(target);
  const failed = once(target, "error").then(([error]) => Promise.reject(error));
  const progress = new Progress("exporting");
  let total = 0;
  let records = 0;
  let last = "";
  try {
    for await (const line of linesOf(response.body)) {
      if (line.startsWith('{"type":"error"')) throw new UsageError((JSON.parse(line) as StreamFailure).message);
      if (records === 0) total = Object.values(parseExportHeader(line).counts).reduce((sum, count) => sum + count, 0);
      if (!sink.write(`${line}\n`)) await Promise.race([once(sink, "drain"), failed]);
      if (!PARTS_OF_RECORDS.test(line)) records += 1;
      last = line;
      progress.show(total === 0 ? null : Math.min(1, records / total), `${records} of ${total} records`);
    }
    if (!last.startsWith('{"type":"end"'))
      throw new Error("The server stopped before the export was complete; run it again.");
    sink.end();
    await Promise.race([once(target, "close"), failed]);
    renameSync(partial, file);
    return { records: records - 2, bytes: target.bytesWritten };
  } catch (error) {
    target.destroy();
    rmSync(partial, { force: true });
    throw error;
  } finally {
    failed.catch((error: unknown) => error); // it is thrown above if it matters
  }
}

/** The lines of an export between the first and the last one, as a stream of bytes. */
function recordLines(file: string, progress: Progress): ReadableStream<Uint8Array> {
  const lines = readLines(file);
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { done, value } = await lines.next();
        if (done) return controller.close();
        if (value.text.startsWith('{"type":"header"') || value.text.startsWith('{"type":"end"')) continue;
        progress.show(value.shareRead, `line ${value.number}`);
        return controller.enqueue(encoder.encode(`${value.text}\n`));
      }
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
}

function onlyFile(positionals: readonly string[], usage: string): string {
  const [file, surplus] = positionals;
  if (file === undefined) throw new UsageError(`Missing file. Usage: ${usage}`);
  if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}. Usage: ${usage}`);
  return file;
}
