// `mneme status`: what it prints of a running server and of none, and what counts as trouble.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { problemsOf, STATUS_EXIT, statusCommand } from "../../src/cli/status.ts";
import type { SystemAnswer } from "../../src/compose/control.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import type { Clock } from "../../src/kit/clock.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-status-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const start = { environment: {}, place: { workingDirectory: folder, shippedModelsDirectory: () => folder } };

const NOW = Date.UTC(2026, 10, 29, 12);
const WELL: SystemAnswer = {
  version: "1.2.3",
  started_at: "2026-11-29T09:00:00.000Z",
  threads: [{ id: "main", state: "up" }],
  lanes: [{ name: "lane-0", status: "up", restarts: 1, rss_bytes: 188_000_000, provider: "cpu", in_flight: 2 }],
  warnings: [],
  queue: {
    ...{ searches_in_progress: 1, searches_waiting: 0, memories_processing: 12, memories_failed: 0 },
    relations_waiting: 3,
  },
  last_minute: { stored: 40, failed: 0, searches: 12, answers: 3 },
  last_hour: { stored: [40], failed: [0], searches: [12], answers: [3] },
  stores: [{ name: "mneme.sqlite", bytes: 2_700_000 }],
  disk: { free_bytes: 60e9, total_bytes: 100e9, is_full: false },
  memory: { rss_bytes: 300e6, free_bytes: 23e9 },
  nodes: [
    {
      ...{ id: "local", name: "machine", role: "all", version: "1.2.3", state: "up" },
      ...{ started_at: "2026-11-29T09:00:00.000Z", seen_at: "2026-11-29T12:00:00.000Z" },
    },
  ],
  last_backup_at: "2026-11-24T12:00:00.000Z",
};

/** Runs the command; a sleep of the clock ends it after `rounds`. */
async function status(argv: readonly string[], rounds = 1) {
  const printed: string[] = [];
  const stop = new AbortController();
  const clock: Clock = {
    now: () => NOW,
    sleep: async () => {
      if (printed.length >= rounds) stop.abort();
    },
  };
  const output = { print: (text: string) => void printed.push(text), isTerminal: true, stopped: stop.signal };
  const exitCode = await statusCommand(["--data-dir", folder, ...argv], start, output, clock);
  return { exitCode, printed };
}

test("says that no server runs, and what to do", async () => {
  const { exitCode, printed } = await status([]);
  expect(exitCode).toBe(STATUS_EXIT.notRunning);
  expect(printed.join("")).toContain("mneme serve");
  const { printed: json } = await status(["--json"]);
  expect(JSON.parse(json.join(""))).toEqual({ running: false });
});

test("shows the state of the server that has the data directory, once or until it is stopped", async () => {
  const stopListening = listenForCommands(folder, async (request) => {
    expect(new URL(request.url).pathname).toBe("/system");
    return Response.json(WELL);
  });
  const { exitCode, printed } = await status([]);
  expect([exitCode, printed.length]).toEqual([STATUS_EXIT.well, 1]);
  for (const part of [
    "Mneme 1.2.3, up for 3 h",
    "All is well.",
    "12 searches",
    "12 being processed",
    "188 MB",
    "5 days",
  ])
    expect(printed[0]).toContain(part);
  const watched = await status(["--watch"], 3);
  expect(watched.printed).toHaveLength(3);
  expect(watched.printed[1]).toStartWith("\x1b[H\x1b[J");
  const lines = (await status(["--watch", "--json"], 2)).printed;
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { running: true, ...WELL },
    { running: true, ...WELL },
  ]);
  expect(lines.join("").trimEnd().split("\n")).toHaveLength(2);
  await stopListening();
});

test("names each kind of trouble", () => {
  const [lane] = WELL.lanes;
  const [node] = WELL.nodes;
  if (lane === undefined || node === undefined) throw new Error("the sample has a lane and a node");
  const cases: readonly (readonly [Partial<SystemAnswer>, RegExp])[] = [
    [{ lanes: [{ ...lane, status: "starting" }] }, /No lane is up/],
    [{ lanes: [lane, { ...lane, status: "down" }] }, /1 of 2 lanes/],
    [{ disk: { free_bytes: 0, total_bytes: 1e9, is_full: true } }, /disk is full/],
    [{ disk: { free_bytes: 1e6, total_bytes: 1e9, is_full: false } }, /nearly full: 1.0 MB/],
    [{ nodes: [{ ...node, state: "lost" }] }, /machine was last seen/],
    [{ queue: { ...WELL.queue, memories_failed: 4 } }, /4 memories failed/],
    [{ warnings: ["the model house cannot be used: its folder is gone"] }, /The model house cannot be used: .+ gone\./],
    [{ warnings: ["the model house cannot be used: Its folder is gone."] }, /: Its folder is gone\.$/],
    [{ threads: [{ id: "main", state: "stopping" }] }, /main is stopping/],
  ];
  expect(problemsOf(WELL)).toEqual([]);
  for (const [change, sentence] of cases) {
    const problems = problemsOf({ ...WELL, ...change });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(sentence);
  }
});

test("refuses wrong flags and a missing key", async () => {
  await expect(status(["--watches"])).rejects.toThrow("--watch");
  await expect(status(["now"])).rejects.toThrow("now");
  await expect(status(["--url", "http://127.0.0.1:1"])).rejects.toThrow("--key");
});
