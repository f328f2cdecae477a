// Cost of filters: time to evaluate each kind of condition in the native attribute index, time to build the index when
// a project is opened, and memory that it needs. `bun bench/filters.ts --help` lists the flags.
//
// Each memory has a title, a type, tags, a language, an external id, a user and six metadata keys. Some attributes have
// few different values, others have a different value in each memory; `attributeBytes` is the size of their JSON. The
// memories are in a real store.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProjectIndex } from "../src/adapters/native/core.ts";
import { filterJson } from "../src/adapters/native/filter-json.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { parseFilter } from "../src/domain/filter.ts";
import type { MemoryKey, ProjectId } from "../src/domain/ids.ts";
import type { JsonObject, MemoryDraft } from "../src/domain/memory.ts";
import { systemClock } from "../src/kit/clock.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import type { VisibleMemory } from "../src/ports/chunk-index.ts";
import { SqliteAccountStore } from "../src/stores/sqlite/account-store.ts";
import type { SqliteDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/open-database.ts";
import { seeded } from "../test/support/seeded.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";

const HELP = `bun bench/filters.ts [flags]

Measures the time of filter conditions in the native attribute index, and time and memory for building it. Prints tables.

  --count N     number of memories (default: 132000)
  --runs N      runs per filter (default: 200)
  --seed N      seed for the attributes (default: 1)
  --record      write bench/results/filters.json`;
/** Number of memories per page, as in src/compose/storage.ts when it opens a project. */
const PAGE = 500;
const WARM_UP_RUNS = 5;
/** The runs of a filter end after this many milliseconds in all, but not before `RUNS_MIN` runs. */
const FILTER_MS_MAX = 10_000;
const RUNS_MIN = 3;
/** Number of memories that are shown again one by one, with changed attributes. */
const SHOWN = 2_000;

const WORDS = "kite wind red river stone cloud paper string field winter morning letter garden bridge window".split(
  " ",
);

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--count": "value", "--runs": "value", "--seed": "value", "--record": "switch" },
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const count = Number(flags.get("--count") ?? 132_000);
  const runs = Number(flags.get("--runs") ?? 200);
  const directory = mkdtempSync(join(tmpdir(), "mneme-bench-filters-"));
  const database = openDatabase(join(directory, "mneme.sqlite"));
  try {
    const memories = new SqliteMemoryStore({ database, clock: systemClock });
    const projectId = new SqliteAccountStore({ database, clock: systemClock }).defaultProject();
    const fillStarted = performance.now();
    fill(memories, database, projectId, count, seeded(Number(flags.get("--seed") ?? 1)));
    process.stderr.write(`${count} memories stored in ${Math.round(performance.now() - fillStarted)} ms\n`);
    const { index } = await ProjectIndex.open({
      directory: join(directory, "project"),
      ...{ newModel: { dimensions: 8, fingerprint: "bench" } },
    });
    const opening = await measureOpening(index, memories, projectId);
    const showing = measureShowing(index, memories, projectId);
    const filters = await measureFilters(index, memories, projectId, runs);
    await index.close();
    print([opening]);
    print([showing]);
    print(filters);
    if (flags.has("--record")) writeRows("filters", [opening, showing, ...filters]);
  } finally {
    database.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function fill(
  memories: SqliteMemoryStore,
  database: SqliteDatabase,
  projectId: ProjectId,
  count: number,
  random: () => number,
): void {
  for (let first = 0; first < count; first += PAGE) {
    const drafts = Array.from({ length: Math.min(PAGE, count - first) }, (_, at) => draftOf(first + at, random));
    memories.accept(projectId, drafts);
  }
  // The caller gives all attributes, so ingestion would add none.
  database.prepare<never>("UPDATE memories SET status = 'completed', extraction = 'caller', chunk_count = 1").run({});
}

function draftOf(at: number, random: () => number): MemoryDraft {
  const below = (bound: number) => Math.floor(random() * bound);
  const words = (length: number) => Array.from({ length }, () => WORDS[below(WORDS.length)]).join(" ");
  return {
    content: "-",
    title: `${words(4)} ${at}`,
    type: ["note", "mail", "document", "chat", "event"][below(5)] ?? "note",
    tags: Array.from(new Set(Array.from({ length: below(5) }, () => `tag-${below(200)}`))),
    language: ["en", "de", "fr", "es", "ja"][below(5)] ?? "en",
    externalId: `crm/record/${at}`,
    ...(random() < 0.9 && { userId: `user-${below(500)}` }),
    metadata: {
      channel: `channel-${below(20)}`,
      priority: 1 + below(5),
      author: { name: `Author ${below(1_000)}` },
      score: random(),
      session: `s-${below(26_000)}`,
      ...(random() < 0.5 && { done: random() < 0.5 }),
    },
  };
}

/**
 * Adds the attributes to the index page by page, as `EmbeddedProjectIndex.reconcile` does, and measures time and
 * memory.
 */
async function measureOpening(index: ProjectIndex, memories: SqliteMemoryStore, projectId: ProjectId): Promise<Row> {
  let attributeBytes = 0;
  // The first pass does not use the index, so that the memory of the strings is not counted as memory of the index.
  for (const page of pagesOf(memories, projectId)) {
    for (const memory of page) attributeBytes += memory.attributes.length;
  }
  const before = settledRss();
  const started = performance.now();
  const readMs: number[] = [];
  let readStart = started;
  const cpu = process.cpuUsage();
  let shown = 0;
  for (const page of pagesOf(memories, projectId)) {
    const keys = BigUint64Array.from(page, (memory) => memory.memoryKey);
    const attributes = page.map((memory) => memory.attributes);
    readMs.push(performance.now() - readStart);
    await index.describe(keys, attributes);
    readStart = performance.now();
    index.show(
      keys,
      BigUint64Array.from(page, (memory) => memory.userKey ?? 0n),
      new Float64Array(page.length),
    );
    shown += page.length;
  }
  const tookMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  return {
    what: "opening",
    memories: shown,
    attributeBytes: Math.round(attributeBytes / shown),
    indexBytes: Math.round((settledRss() - before) / shown),
    ms: Math.round(tookMs),
    processorMs: Math.round((user + system) / 1_000),
    sliceP50Ms: round(percentile(0.5, readMs)),
    sliceMaxMs: round(Math.max(...readMs)),
  };
}

function measureShowing(index: ProjectIndex, memories: SqliteMemoryStore, projectId: ProjectId): Row {
  const tookUs = memories.visible(projectId, { afterKey: null, limit: SHOWN }).map((memory, at) => {
    const attributes = memory.attributes.replace('"priority":', `"changed":${at},"priority":`);
    const [keys, users] = [BigUint64Array.of(memory.memoryKey), BigUint64Array.of(memory.userKey ?? 0n)];
    const started = performance.now();
    index.show(keys, users, new Float64Array(1), [attributes]);
    return (performance.now() - started) * 1_000;
  });
  return { what: "one shown again", p50Us: round(percentile(0.5, tookUs)), p95Us: round(percentile(0.95, tookUs)) };
}

async function measureFilters(
  index: ProjectIndex,
  memories: SqliteMemoryStore,
  projectId: ProjectId,
  runs: number,
): Promise<Row[]> {
  const ids = memories.list(projectId, { limit: 10 }).items.map(({ id }) => id);
  const [middle] = memories
    .getMany(projectId, [BigInt(Math.floor(index.admit(null, systemClock.now()).memories / 2)) as MemoryKey])
    .values();
  const createdAt = new Date(middle?.createdAt ?? 0).toISOString();
  const rows: Row[] = [];
  for (const [what, filter] of Object.entries(filters(ids, createdAt))) {
    const tookMs: number[] = [];
    let admitted = 0;
    const begun = performance.now();
    const isEnough = () => tookMs.length >= RUNS_MIN && performance.now() - begun > FILTER_MS_MAX;
    let cpu = process.cpuUsage();
    for (let run = -WARM_UP_RUNS; run < runs && !isEnough(); run++) {
      if (run === 0) cpu = process.cpuUsage();
      const started = performance.now();
      admitted = (await index.admitWithin(null, systemClock.now(), filterJson(parseFilter(filter)))).memories;
      if (run >= 0) tookMs.push(performance.now() - started);
    }
    const { user, system } = process.cpuUsage(cpu);
    const processorMs = round((user + system) / 1_000 / tookMs.length);
    const figures = { p50Ms: round(percentile(0.5, tookMs)), p95Ms: round(percentile(0.95, tookMs)), processorMs };
    rows.push({ what, admitted, ...figures });
  }
  return rows;
}

function filters(ids: readonly string[], createdAt: string): Record<string, JsonObject> {
  const sessions = (count: number) => Array.from({ length: count }, (_, at) => `s-${at * 20}`);
  return {
    "$eq, 5 values": { type: "mail" },
    "$eq, unique": { memory_id: ids[0] ?? "" },
    "$eq, nested path": { "metadata.author.name": "Author 7" },
    "$eq null": { "metadata.done": null },
    $ne: { "metadata.channel": { $ne: "channel-3" } },
    "$in, 10 ids": { memory_id: { $in: ids } },
    "$nin, 1,000 values": { "metadata.session": { $nin: sessions(1_000) } },
    $exists: { "metadata.done": { $exists: true } },
    "tags, item": { tags: "tag-7" },
    "$gt, 1 % of unique numbers": { "metadata.score": { $gt: 0.99 } },
    "$gt, 50 % of unique numbers": { "metadata.score": { $gt: 0.5 } },
    "$gte, 50 % of unique texts": { title: { $gte: "morning" } },
    "$gte, dates, 50 %": { created_at: { $gte: createdAt } },
    "$contains, rare": { title: { $contains: "kite kite kite" } },
    "$contains, common": { title: { $contains: "kite" } },
    "$contains and a user": { userId: "user-7", title: { $contains: "kite" } },
    "five conditions": {
      $or: [{ type: "note" }, { tags: { $in: ["tag-1", "tag-2"] } }],
      ...{ language: "en", "metadata.priority": { $gte: 3 }, "metadata.done": { $ne: true } },
    },
    "200 conditions": {
      $or: Array.from({ length: 200 }, (_, at) => ({ "metadata.session": { $gte: `s-${at}`, $lt: `s-${at}0` } })).slice(
        0,
        100,
      ),
    },
    "200 of $contains": {
      $or: Array.from({ length: 200 }, (_, at) => ({ title: { $contains: `nothing ${at}` } })),
    },
  };
}

function* pagesOf(memories: SqliteMemoryStore, projectId: ProjectId): Generator<readonly VisibleMemory[]> {
  let afterKey: MemoryKey | null = null;
  for (;;) {
    const page = memories.visible(projectId, { afterKey, limit: PAGE });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    afterKey = page.at(-1)?.memoryKey ?? null;
  }
}

function settledRss(): number {
  Bun.gc(true);
  return process.memoryUsage.rss();
}

function round(figure: number): number {
  return Number(figure.toFixed(3));
}

function print(rows: readonly Row[]): void {
  const lines = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(String))];
  process.stdout.write(`${alignRows(lines, true).join("\n")}\n\n`);
}

await main();
