// Measures a change of the embedding model while a server is used: how long it takes, how many requests fail, and how
// long searches and writes take beside an idle server. `bun bench/model-change.ts --help`.

import { alignRows, Progress } from "../src/cli/terminal.ts";
import { isRecord } from "../src/kit/record.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { ENGLISH, MULTILINGUAL } from "../test/support/shipped-models.ts";
import { until } from "../test/support/until.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { storeAll } from "./lib/storing.ts";

const HELP = `bun bench/model-change.ts [flags]
  --chunks N    number of notes, each of one chunk (default: 3000)
  --from MODEL  model before the change (default: ${ENGLISH})
  --to MODEL    model after it (default: ${MULTILINGUAL})
  --rate N      chunks per second (MNEME_EMBEDDER_CHANGE_RATE; default: 0, as many as possible)
  --record      write bench/results/model-change.json`;
/** Number of searches and writes that are measured on the idle server. */
const IDLE_REQUESTS = 100;
/** Milliseconds between the end of a request and the next one. One caller searches and another one writes. */
const PAUSE_MS = 50;
const CHANGE_MS_MAX = 6 * 3_600_000;

/** Times of requests in milliseconds, and the number of those that failed. */
interface Timed {
  readonly ms: number[];
  failed: number;
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const chunks = Number(flags.get("--chunks") ?? 3_000);
  const [from, to] = [flags.get("--from") ?? ENGLISH, flags.get("--to") ?? MULTILINGUAL];
  const environment = {
    MNEME_EMBEDDER: from,
    MNEME_EMBEDDER_CHANGE_RATE: flags.get("--rate") ?? "0",
    MNEME_QUERY_CACHE: "off",
    MNEME_LOG_LEVEL: "warn",
  };
  await using server = await startServer({ environment });
  const progress = new Progress("storing:");
  const notes = Array.from({ length: chunks }, (_, at) => ({ content: noteOf(at) }));
  await storeAll(server, notes, (sent) => progress.show(sent / chunks, `${sent} of ${chunks} notes`));
  progress.finish(`stored: ${chunks} notes`);
  const idle = await ask(server, chunks, (asked) => asked < IDLE_REQUESTS);
  const { body: project } = await server.call("GET", "/v1/project");
  const id = isRecord(project) ? String(project.id) : "";
  const startedAt = performance.now();
  await server.call("PUT", `/v1/projects/${id}/embedder`, { model: to });
  let isChanging = true;
  const during = ask(server, 2 * chunks, () => isChanging);
  await changed(server, to);
  isChanging = false;
  const seconds = (performance.now() - startedAt) / 1000;
  const busy = await during;
  const after = await ask(server, 3 * chunks, (asked) => asked < IDLE_REQUESTS);
  const rows = [rowOf("idle before", idle), rowOf("while changing", busy), rowOf("idle after", after)];
  const header = ["", "searches", "failed", "p50 ms", "p95 ms", "writes", "failed", "p50 ms", "p95 ms"];
  process.stdout.write(`${chunks} chunks from ${from} to ${to}: ${seconds.toFixed(0)} s, `);
  process.stdout.write(`${(chunks / seconds).toFixed(1)} chunks/s\n`);
  process.stdout.write(
    `${alignRows([header, ...rows.map((row) => Object.values(row).map(String))], true).join("\n")}\n`,
  );
  const written = rows.map((row): Row => ({ chunks, from, to, seconds: Math.round(seconds), ...row }));
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("model-change", written)}\n`);
}

async function changed(server: RunningServer, to: string): Promise<void> {
  const progress = new Progress("changing:");
  const isDone = async () => {
    const { body } = await server.call("GET", "/v1/project/embedder");
    const change = isRecord(body) && isRecord(body.change) ? body.change : {};
    const [done, total] = [Number(change.chunks_done), Number(change.chunks_total ?? 0)];
    progress.show(total > 0 ? done / total : null, `${done} of ${total} chunks`);
    if (change.state === "failed") throw new Error(String(change.error));
    return isRecord(body) && body.model === to && change.state === "done";
  };
  await until("the model is changed", isDone, CHANGE_MS_MAX);
  progress.finish("changed");
}

/** Searches and writes at the same time while `goesOn`, which gets the number of searches so far. */
async function ask(
  server: RunningServer,
  firstNote: number,
  goesOn: (asked: number) => boolean,
): Promise<{ readonly searches: Timed; readonly writes: Timed }> {
  const [searches, writes]: [Timed, Timed] = [
    { ms: [], failed: 0 },
    { ms: [], failed: 0 },
  ];
  const timed = async (into: Timed, path: string, body: object) => {
    const startedAt = performance.now();
    const { status } = await server.call("POST", path, body);
    into.ms.push(performance.now() - startedAt);
    if (status >= 400) into.failed += 1;
    await Bun.sleep(PAUSE_MS);
  };
  let isSearching = true;
  const writing = (async () => {
    for (let n = firstNote; isSearching; n++) await timed(writes, "/v1/memories", { content: noteOf(n) });
  })();
  for (let n = 0; goesOn(n); n++) {
    await timed(searches, "/v1/memories/search", { query: `Who keeps item ${n * 7}?`, mode: "hybrid", limit: 10 });
  }
  isSearching = false;
  await writing;
  return { searches, writes };
}

function rowOf(when: string, { searches, writes }: { readonly searches: Timed; readonly writes: Timed }) {
  const at = (share: number, { ms }: Timed) => Math.round(percentile(share, ms));
  return {
    when,
    ...{ searches: searches.ms.length, searchesFailed: searches.failed },
    ...{ searchP50Ms: at(0.5, searches), searchP95Ms: at(0.95, searches) },
    ...{ writes: writes.ms.length, writesFailed: writes.failed },
    ...{ writeP50Ms: at(0.5, writes), writeP95Ms: at(0.95, writes) },
  };
}

const PEOPLE = ["Ada", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana"];
const PLACES = ["attic", "barn", "cellar", "dairy", "foyer", "garage", "hall", "kiln"];

/** A note of one chunk; each number gives another text. */
function noteOf(n: number): string {
  const [person = "", place = ""] = [PEOPLE[n % 8], PLACES[(n >> 3) % 8]];
  return `${person} keeps item ${n} in the ${place}, on shelf ${n % 97}, and looks at it every ${(n % 27) + 1} days.`;
}

await runMain(HELP, main);
