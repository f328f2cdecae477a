// Measures what reading a document costs and how it affects searches. Uploads each file of a folder to a server while
// another client searches. Measures the time until the file's text is read and until it is searchable, and the peak
// memory of the child process that reads it. `bun bench/documents.ts --help`.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { UsageError } from "../src/kit/flags.ts";
import { isRecord } from "../src/kit/record.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { corpusFile, firstDocuments, queriesFile } from "./lib/beir.ts";
import { firstQuestions, SCIFACT, SHARED_DATA } from "./lib/collection.ts";
import { percentile } from "./lib/metrics.ts";
import { childrenOf, commandLineOf, peakBytes, processTree } from "./lib/processes.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { storeAll } from "./lib/storing.ts";
import { uploadFile, waitForMemory } from "./lib/uploading.ts";

const HELP = `bun bench/documents.ts [flags]
  --folder PATH  files, in folders by kind (${join(SHARED_DATA, "documents")})
  --texts PATH   BEIR collection that is searched meanwhile (${SCIFACT})
  --docs N       number of its documents to store first (300)
  --only TEXT    only files whose path contains TEXT
  --read-only    delete each file once its text is read, so that nothing is embedded
  --record       write bench/results/documents.json`;
const IDLE_SEARCHES = 300;
const WARM_UP_SEARCHES = 20;
/** Maximum time from the end of an upload until the document is read, and from then until it is searchable. */
const EACH_MS = 900_000;
/**
 * Milliseconds between two checks of the child processes. The kernel records the peak, so it is enough to check each
 * child once before it ends.
 */
const CHECK_EVERY_MS = 25;
const MIB = 1024 * 1024;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const folder = resolve(flags.get("--folder") ?? join(SHARED_DATA, "documents"));
  const texts = resolve(flags.get("--texts") ?? SCIFACT);
  for (const path of [folder, texts]) {
    if (!existsSync(path)) throw new UsageError(`${path} does not exist; name another with --folder or --texts.`);
  }
  const files = filesOf(folder).filter((file) => file.includes(flags.get("--only") ?? ""));

  await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "error" } });
  await storeAll(server, await firstDocuments(corpusFile(texts), Number(flags.get("--docs") ?? 300)));
  const searcher = new Searcher(server, await firstQuestions(queriesFile(texts), IDLE_SEARCHES));
  await searcher.ask(WARM_UP_SEARCHES);
  const idle = await searcher.ask(IDLE_SEARCHES);

  const rows: Row[] = [];
  const meanwhile: number[] = [];
  for (const file of files) {
    const { row, searchMs } = await measure({ server, searcher, isReadOnly: flags.has("--read-only") }, folder, file);
    rows.push(row);
    meanwhile.push(...searchMs);
    process.stdout.write(`${alignRows([cellsOf(row)]).join("")}\n`);
  }
  const searches: Row = {
    file: "all searches",
    idleP95Ms: percentile(0.95, idle),
    p95Ms: percentile(0.95, meanwhile),
    searches: meanwhile.length,
  };
  rows.push(searches);
  process.stdout.write(
    `fast search p95: idle ${percentile(0.95, idle).toFixed(1)} ms, while documents are read ${percentile(0.95, meanwhile).toFixed(1)} ms (${meanwhile.length} searches)\n`,
  );
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("documents", rows)}\n`);
}

function filesOf(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => file.includes("/"))
    .sort();
}

/** The client that searches meanwhile: one search in mode fast after the other. */
class Searcher {
  #next = 0;

  constructor(
    private readonly server: RunningServer,
    private readonly questions: readonly string[],
  ) {}

  /** Runs up to `count` searches, until `isDone`; returns their times in milliseconds. */
  async ask(count: number, isDone: () => boolean = () => false): Promise<number[]> {
    const taken: number[] = [];
    while (taken.length < count && !isDone()) {
      const query = this.questions[this.#next++ % this.questions.length];
      const startedAt = performance.now();
      const { status } = await this.server.call("POST", "/v1/memories/search", { query, mode: "fast", limit: 10 });
      if (status !== 200) throw new Error(`a search was answered with ${status}`);
      taken.push(performance.now() - startedAt);
    }
    return taken;
  }
}

async function measure(
  { server, searcher, isReadOnly }: { server: RunningServer; searcher: Searcher; isReadOnly: boolean },
  folder: string,
  file: string,
): Promise<{ row: Row; searchMs: readonly number[] }> {
  let isDone = false;
  const searching = searcher.ask(Number.POSITIVE_INFINITY, () => isDone);
  const children = new ChildPeaks(server.pid);
  const startedAt = performance.now();
  let [end, readMs] = ["", 0];
  try {
    const { status, body } = await uploadFile(server, basename(file), new Uint8Array(readFileSync(join(folder, file))));
    if (status === 202) {
      const id = String(body.id);
      const read = await waitForMemory(server, id, isRead, EACH_MS);
      readMs = performance.now() - startedAt;
      const memory = isReadOnly
        ? read
        : await waitForMemory(server, id, ({ status: state }) => state !== "processing", EACH_MS);
      if (isReadOnly) await server.call("DELETE", `/v1/memories/${id}`);
      end = isRecord(memory.error) ? String(memory.error.message) : isReadOnly ? "read" : String(memory.status);
    } else {
      end = `refused with ${status}`;
    }
  } finally {
    isDone = true;
  }
  const endMs = performance.now() - startedAt;
  const searchMs = await searching;
  const row = {
    file,
    end,
    readMs: Math.round(readMs),
    endMs: Math.round(endMs),
    readerPeakMiB: Math.round(children.stop() / MIB),
    searchP95Ms: Number(percentile(0.95, searchMs).toFixed(1)),
    searches: searchMs.length,
  };
  return { row, searchMs };
}

function isRead({ status, progress }: Readonly<Record<string, unknown>>): boolean {
  if (status !== "processing") return true;
  return isRecord(progress) && progress.stage !== "queued" && progress.stage !== "reading";
}

/** Watches the memory of short-lived children of a server. */
class ChildPeaks {
  readonly #known: ReadonlySet<number>;
  readonly #timer: ReturnType<typeof setInterval>;
  #peakBytes = 0;

  constructor(server: number) {
    // Children that exist now run the models or prepare texts; they are not measured.
    this.#known = new Set(processTree(server).map(({ pid }) => pid));
    this.#timer = setInterval(() => {
      for (const pid of childrenOf(server)) {
        // Before its exec call, a child has the command line and memory of its parent.
        if (commandLineOf(pid).includes("child") && !this.#known.has(pid))
          this.#peakBytes = Math.max(this.#peakBytes, peakBytes(pid));
      }
    }, CHECK_EVERY_MS);
  }

  /** Stops watching; returns the largest resident set of any new child in bytes. */
  stop(): number {
    clearInterval(this.#timer);
    return this.#peakBytes;
  }
}

function cellsOf({ file, end, readMs, endMs, readerPeakMiB, searchP95Ms }: Row): string[] {
  return [
    `${file}:`,
    `read ${readMs} ms,`,
    `${end} ${endMs} ms,`,
    `reader ${readerPeakMiB} MiB,`,
    `search p95 ${searchP95Ms} ms`,
  ];
}

await runMain(HELP, main);
