// Which problems of a server the view System shows first: those on which a person must act.

import { describe, expect, test } from "bun:test";
import type { System } from "../../src/console/browser/core/calls.ts";
import { problemsOf } from "../../src/console/browser/views/system/problems.ts";

const NOW = Date.parse("2026-12-01T12:00:00Z");
const WELL = {
  ...{ threads: [{ id: "main", state: "up" }], lanes: [{ name: "lane-0", status: "up" }], warnings: [] },
  queue: { memories_failed: 0 },
  disk: { free_bytes: 50, total_bytes: 100, is_full: false },
  nodes: [{ name: "one", state: "up", seen_at: "2026-12-01T11:59:00Z" }],
  last_backup_at: "2026-11-30T12:00:00Z",
} as unknown as System;

const kindsOf = (state: object) => problemsOf({ ...WELL, ...state } as System, NOW).map(({ kind }) => kind);

describe("what needs attention", () => {
  test("is nothing while all is well", () => {
    expect(kindsOf({})).toEqual([]);
    expect(kindsOf({ disk: { free_bytes: 11, total_bytes: 100, is_full: false } })).toEqual([]);
    expect(kindsOf({ disk: { free_bytes: 0, total_bytes: 0, is_full: false } })).toEqual([]);
  });

  test.each([
    [["disk_full"], { disk: { free_bytes: 1, total_bytes: 100, is_full: true } }],
    [["disk_nearly_full"], { disk: { free_bytes: 9, total_bytes: 100, is_full: false } }],
    [["node_lost"], { nodes: [{ name: "two", state: "lost", seen_at: "2026-12-01T10:00:00Z" }] }],
    [["process"], { lanes: [{ name: "lane-0", status: "starting" }] }],
    [["process"], { threads: [{ id: "2", state: "stopping" }] }],
    [["warning", "warning"], { warnings: ["a", "b"] }],
    [["memories_failed"], { queue: { memories_failed: 2 } }],
    [["backup"], { last_backup_at: null }],
    [["backup"], { last_backup_at: "2026-11-20T12:00:00Z" }],
  ] as const)("is %j", (kinds, state) => {
    expect<readonly string[]>(kindsOf(state)).toEqual(kinds);
  });

  test("is named by urgency", () => {
    const state = {
      ...{ last_backup_at: null, queue: { memories_failed: 1 }, warnings: ["a"] },
      disk: { free_bytes: 0, total_bytes: 100, is_full: true },
    };
    expect(kindsOf(state)).toEqual(["disk_full", "warning", "memories_failed", "backup"]);
  });
});
