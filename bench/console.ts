// Smoothness of the console with much data: the longest task of the page's main thread while a map of 5,000 points is
// zoomed and moved, a graph of 10,000 entities is explored, and a table of 10,000 memories scrolls. With `--minutes` it
// also measures whether the page's memory stays flat while all views are opened again and again. The answers of the
// server are made up, because only the page is measured. `bun bench/console.ts --help` lists the flags.

import type { Page } from "playwright-core";
import { alignRows } from "../src/cli/terminal.ts";
import { systemClock } from "../src/kit/clock.ts";
import { goTo, type InBrowser, NO_BROWSER, startInBrowser } from "../test/console/in-browser.ts";
import { seeded } from "../test/support/seeded.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `bun bench/console.ts [flags]

Prints the longest tasks of the page's main thread in milliseconds of processor time, so that a busy machine does not
count, and in milliseconds of the clock. A task over 100 ms is felt. Needs Chromium.

  --points N    points of the map (default: 5000)
  --entities N  entities of the graph (default: 10000)
  --memories N  memories of the table (default: 10000)
  --minutes N   also go through all views for N minutes, and print the heap after a garbage collection (default: 0)`;

const SEED = 7;
/** Views that are opened besides the map, the graph and the memories. */
const OTHER_VIEWS = ["home", "playground?q=harbour&modes=fast", "ask", "users", "keys", "models", "settings", "system"];
/** Approximate number of rows of the table about the page's memory. */
const ROWS = 10;
const WORDS = ["harbour", "gauge", "fjord", "contract", "budget", "sensor", "permit", "pier", "reading", "tide"];

/** A task of the main thread, in milliseconds. */
interface Task {
  readonly processorMs: number;
  readonly clockMs: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  if (NO_BROWSER !== null) throw new Error(NO_BROWSER);
  const count = (flag: string, otherwise: number) => Number(flags.get(flag) ?? otherwise);
  const shown = await startInBrowser();
  try {
    const page = await shown.open();
    await answerWith(page, shown, {
      points: count("--points", 5_000),
      entities: count("--entities", 10_000),
      memories: count("--memories", 10_000),
    });
    const rows = [
      await measured(page, "map: opening", () => openMap(page)),
      await measured(page, "map: zooming", () => zoom(page)),
      await measured(page, "map: moving", () => drag(page)),
      await measured(page, "map: pointing", () => point(page)),
      await measured(page, "graph: opening", () => openGraph(page)),
      await measured(page, "graph: exploring", () => explore(page)),
      await measured(page, "memories: opening", () => openMemories(page)),
      await measured(page, "memories: scrolling", () => scroll(page)),
    ];
    const minutes = count("--minutes", 0);
    const head = ["", "tasks", "longest, processor", "longest, clock", "over 100 ms, processor"];
    process.stdout.write(`${alignRows([head, ...rows], true).join("\n")}\n`);
    if (minutes > 0) await watchMemory(page, minutes);
  } finally {
    await shown.stop();
  }
}

/**
 * Opens all views again and again, and prints the page's heap, nodes and listeners after a garbage collection: about
 * `ROWS` rows, the first after one round.
 */
async function watchMemory(page: Page, minutes: number): Promise<void> {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send("HeapProfiler.enable");
  const begun = systemClock.now();
  const minutesSince = () => (systemClock.now() - begun) / 60_000;
  const head = ["minutes", "views opened", "heap", "nodes", "listeners"];
  const rows: (readonly string[])[] = [];
  let opened = 0;
  do {
    for (const work of [openMap, zoom, point, openGraph, explore, openMemories, scroll]) await work(page);
    for (const view of OTHER_VIEWS) await goTo(page, `#/${view}`);
    opened += 3 + OTHER_VIEWS.length;
    if (minutesSince() < (rows.length * minutes) / ROWS) continue;
    await goTo(page, "#/connect"); // an empty view, so that only what the page keeps is measured
    await protocol.send("HeapProfiler.collectGarbage");
    const { usedSize } = await protocol.send("Runtime.getHeapUsage");
    const { nodes, jsEventListeners } = await protocol.send("Memory.getDOMCounters");
    const heap = `${(usedSize / 1e6).toFixed(1)} MB`;
    rows.push([minutesSince().toFixed(1), String(opened), heap, String(nodes), String(jsEventListeners)]);
  } while (minutesSince() < minutes);
  process.stdout.write(`${alignRows([head, ...rows], true).join("\n")}\n`);
}

/** Runs `work`, and returns a row of the table. */
async function measured(page: Page, name: string, work: () => Promise<void>): Promise<readonly string[]> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page has no browser");
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "__metadata"] });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const tasks = tasksOf(traceEvents);
  const longest = (of: keyof Task) => Math.max(0, ...tasks.map((task) => task[of])).toFixed(1);
  const over = tasks.filter(({ processorMs }) => processorMs > 100).length;
  return [name, String(tasks.length), longest("processorMs"), longest("clockMs"), String(over)];
}

function tasksOf(events: readonly TraceEvent[]): readonly Task[] {
  const threads = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return events
    .filter(({ name, ph, pid, tid }) => ph === "X" && name.endsWith("RunTask") && threads.has(`${pid} ${tid}`))
    .map(({ dur = 0, tdur = 0 }) => ({ processorMs: tdur / 1000, clockMs: dur / 1000 }));
}

/** Answers the requests of the views with made-up data. */
async function answerWith(
  page: Page,
  { url }: InBrowser,
  { points, entities, memories }: { readonly points: number; readonly entities: number; readonly memories: number },
): Promise<void> {
  const chance = seeded(SEED);
  const at = new Date(Date.UTC(2026, 10, 1)).toISOString();
  const id = (kind: string, n: number) => `${kind}_${String(n).padStart(26, "0")}`;
  const words = (n: number) => `${WORDS[n % WORDS.length]} ${WORDS[(n * 7 + 3) % WORDS.length]} ${n}`;
  const places = Array.from({ length: points }, (_, n) => ({
    ...{
      memory_id: id("mem", n),
      x: chance() * 2 - 1,
      y: chance() * 2 - 1,
      type: WORDS[n % 8],
      userId: `user-${n % 9}`,
    },
    ...{ created_at: at, is_superseded: n % 20 === 0 },
  }));
  const entity = (n: number) => ({
    id: id("ent", n),
    name: words(n),
    kind: "name",
    memories: 1 + ((entities - n) % 40),
  });
  const all = Array.from({ length: entities }, (_, n) => entity(n));
  const memory = (n: number) => ({
    ...{
      id: id("mem", n),
      status: "completed",
      content: `${words(n)}.`,
      title: words(n),
      type: "note",
      tags: ["harbour"],
    },
    ...{ metadata: {}, userId: `user-${n % 9}`, agentId: null, sessionId: null, language: "en", externalId: null },
    ...{ created_at: at, updated_at: at, expires_at: null, occurred_at: null, source: null, error: null },
    ...{ superseded_by: null, chunk_count: 1, version: 1 },
  });
  const answers: readonly (readonly [path: string, answer: (query: URLSearchParams, path: string) => unknown])[] = [
    ["/v1/memories/map", () => ({ state: "ready", computed_at: at, total: points, points: places })],
    ["/v1/memories/count", () => ({ count: memories })],
    [
      "/v1/memories",
      (query) => {
        const from = Number(query.get("cursor") ?? 0);
        const to = Math.min(memories, from + Number(query.get("limit") ?? 20));
        const data = Array.from({ length: to - from }, (_, n) => memory(from + n));
        return { data, has_more: to < memories, cursor: to < memories ? String(to) : null };
      },
    ],
    ["/v1/graph/entities", () => ({ data: all.slice(0, 100), has_more: true, cursor: "100" })],
    [
      "/v1/graph/entities/",
      (query, path) => {
        const n = Number(path.slice(-26));
        const limit = Number(query.get("limit") ?? 30);
        const near = Array.from({ length: limit }, (_, step) => all[(n * 31 + step * step * 17 + 1) % entities]);
        return { ...entity(n), neighbours: near.map((one) => ({ ...one, weight: 1 })), passages: [] };
      },
    ],
  ];
  await page.route(`${url}v1/**`, (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    const found = answers.find(([path]) => (path.endsWith("/") ? pathname.startsWith(path) : pathname === path));
    if (found === undefined) return route.continue();
    return route.fulfill({ json: found[1](searchParams, pathname) });
  });
}

async function openMap(page: Page): Promise<void> {
  await goTo(page, "#/map");
  await page.locator("main canvas").waitFor();
  await frames(page, 10);
}

async function zoom(page: Page): Promise<void> {
  await page.locator("main canvas").hover();
  for (let step = 0; step < 30; step += 1) await page.mouse.wheel(0, step < 20 ? -120 : 120);
  await frames(page, 5);
}

async function drag(page: Page): Promise<void> {
  const box = await boxOf(page);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  for (let step = 0; step < 40; step += 1) await page.mouse.move(box.x + box.width / 2 + step * 4, box.y + 200);
  await page.mouse.up();
  await frames(page, 5);
}

async function point(page: Page): Promise<void> {
  const box = await boxOf(page);
  for (let step = 0; step < 60; step += 1) await page.mouse.move(box.x + 80 + step * 9, box.y + 60 + step * 5);
  await frames(page, 5);
}

async function openGraph(page: Page): Promise<void> {
  await goTo(page, "#/graph");
  await page.locator("svg.graph .graph-node").first().waitFor();
  await frames(page, 10);
}

async function explore(page: Page): Promise<void> {
  const names = page.getByRole("main").locator(".list .link");
  await names.first().click();
  for (let step = 0; step < 12; step += 1) {
    const links = page.locator(".near-list .link");
    await links.nth(step % 5).waitFor();
    await links.nth(step % 5).click();
    await frames(page, 5);
  }
}

async function openMemories(page: Page): Promise<void> {
  await goTo(page, "#/memories");
  await page.locator(".grid-body .grid-row").first().waitFor();
  await frames(page, 10);
}

async function scroll(page: Page): Promise<void> {
  await page.locator(".grid-table").hover();
  for (let step = 0; step < 150; step += 1) {
    await page.mouse.wheel(0, 2_500);
    await frames(page, 2);
  }
}

async function boxOf(page: Page) {
  const box = await page.locator("main canvas").boundingBox();
  if (box === null) throw new Error("the map has no place on the page");
  return box;
}

/** Waits until the page has drawn this many frames. */
async function frames(page: Page, count: number): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    let left = ${count};
    const next = () => ((left -= 1) > 0 ? requestAnimationFrame(next) : resolve());
    requestAnimationFrame(next);
  })`);
}

await runMain(HELP, main);
