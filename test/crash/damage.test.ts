// Damaged files: damaged indexes are repaired from the system of record; damage of the system of record stops the start
// with one line.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { runMneme } from "../support/command.ts";
import { representatives } from "../support/extent.ts";
import { startService } from "../support/service.ts";
import { DEFAULT } from "../support/shipped-models.ts";
import { ROOT } from "../support/sources.ts";
import { expectWhole, storeBatch } from "./notes.ts";

const RERANKER = "mneme-reranker-minilm-l6";

const home = mkdtempSync(join(tmpdir(), "mneme-damage-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const NOTES = 40;
const intact = join(home, "intact");
const ids = new Map<number, string>();
beforeAll(async () => {
  const mneme = await startService({ dataDir: intact });
  const numbers = Array.from({ length: NOTES }, (_, at) => at);
  // two rounds, so that the indexes have more than one segment and log entry
  for (const part of [numbers.slice(0, NOTES / 2), numbers.slice(NOTES / 2)]) {
    const stored = await storeBatch(mneme, part);
    for (const [at, n] of part.entries()) ids.set(n, stored[at] ?? "");
    for (const id of stored) await mneme.settled(id);
  }
  await mneme.stop();
});

let copies = 0;
/** Copies the intact data folder, so that a test can damage the copy. */
function copy(): string {
  const folder = join(home, `copy-${copies++}`);
  cpSync(intact, folder, { recursive: true });
  return folder;
}

/** All files below a folder that are not empty. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => join(folder, path))
    .filter((path) => statSync(path).isFile() && statSync(path).size > 0);
}

/** Inverts 64 bytes in the middle of a file. */
function scramble(path: string): void {
  const bytes = readFileSync(path);
  const middle = Math.floor(bytes.length / 2);
  for (let at = middle; at < Math.min(middle + 64, bytes.length); at++) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  writeFileSync(path, bytes);
}

describe("a damaged index is repaired from the system of record: all memories complete and are found", () => {
  const inProject = (folder: string, part: "vectors" | "text") => {
    const [project = ""] = readdirSync(join(folder, "projects"));
    return join(folder, "projects", project, part);
  };
  const each = (folder: string, damage: (path: string) => void) => {
    for (const path of filesBelow(folder)) damage(path);
  };
  const truncate = (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2));
  const damages: [name: string, damage: (folder: string) => void][] = [
    ["the folder of all indexes is gone", (folder) => rmSync(join(folder, "projects"), { recursive: true })],
    ["the vectors are gone", (folder) => rmSync(inProject(folder, "vectors"), { recursive: true })],
    ["the postings are gone", (folder) => rmSync(inProject(folder, "text"), { recursive: true })],
    ["the vectors' files end early", (folder) => each(inProject(folder, "vectors"), truncate)],
    ["the postings' files end early", (folder) => each(inProject(folder, "text"), truncate)],
    ["all files are empty", (folder) => each(join(folder, "projects"), (path) => truncateSync(path, 0))],
    ["all files are scrambled", (folder) => each(join(folder, "projects"), scramble)],
    [
      "one file of the postings is missing",
      (folder) => {
        const segment = filesBelow(inProject(folder, "text")).find((path) => !path.endsWith(".json"));
        if (segment !== undefined) rmSync(segment);
      },
    ],
  ];
  const familyOf = ([name]: (typeof damages)[number]) => (/gone|missing/.test(name) ? "missing" : "damaged");
  for (const [name, damage] of representatives(damages, familyOf, SEED)) {
    test(`${name} (seed ${SEED})`, async () => {
      const dataDir = copy();
      damage(dataDir);
      const mneme = await startService({ dataDir, config: { logLevel: "silent" } });
      try {
        await expectWhole(mneme, ids);
      } finally {
        await mneme.stop();
      }
    });
  }

  test("a repair is permanent: the next start has nothing to repair", async () => {
    const dataDir = copy();
    rmSync(join(dataDir, "projects"), { recursive: true });
    const first = await startService({ dataDir, config: { logLevel: "silent" } });
    await expectWhole(first, ids);
    await first.stop();
    const second = await startService({ dataDir, config: { logLevel: "silent" } });
    try {
      expect((await second.call("GET", "/v1/memories?status=processing")).body.data).toEqual([]);
      await expectWhole(second, ids);
    } finally {
      await second.stop();
    }
  });
});

describe("an impossible start fails with one line that names the file", () => {
  /** Expects that `mneme serve` ends with exit code 1 and one line; returns the line. */
  const refusal = (dataDir: string, ...flags: string[]) => {
    const { exitCode, stderr } = runMneme(
      ["serve", "--port", "0", "--data-dir", dataDir, "--log-level", "silent", ...flags],
      home,
    );
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toStartWith("mneme: ");
    expect(exitCode).toBe(1);
    return stderr;
  };
  const garbage = new Uint8Array(64 * 1024).fill(0x5a);

  for (const file of ["mneme.sqlite", "memories.duckdb"]) {
    for (const [name, damage] of [
      ["is not a database", (path: string) => writeFileSync(path, garbage)],
      ["ends early", (path: string) => truncateSync(path, 2_000)],
      [
        "has a scrambled head",
        (path: string) => {
          const bytes = readFileSync(path);
          writeFileSync(path, Buffer.concat([garbage.subarray(0, 4_096), bytes.subarray(4_096)]));
        },
      ],
    ] as const) {
      test(`${file} ${name}`, () => {
        const dataDir = copy();
        damage(join(dataDir, file));
        expect(refusal(dataDir)).toContain(file);
      });
    }
  }

  test("a data directory that another process holds, which continues", async () => {
    const dataDir = copy();
    const holder = await startService({ dataDir });
    try {
      expect(refusal(dataDir)).toContain(dataDir);
      await expectWhole(holder, ids);
    } finally {
      await holder.stop();
    }
  });

  test("a data directory that is a file", () => {
    const path = join(home, "file");
    writeFileSync(path, "x");
    expect(refusal(path)).toContain(path);
  });

  const described = join(ROOT, "data/models");
  /** A folder with the shipped models, whose descriptions (model.json) `change` has modified. */
  function modelsWith(change: (model: string, description: Record<string, unknown>) => void): string {
    const folder = mkdtempSync(join(home, "models-"));
    for (const model of [DEFAULT, RERANKER]) {
      mkdirSync(join(folder, model));
      for (const path of filesBelow(join(described, model))) symlinkSync(path, join(folder, model, basename(path)));
      const json = join(folder, model, "model.json");
      const description = JSON.parse(readFileSync(json, "utf8"));
      change(model, description);
      rmSync(json);
      writeFileSync(json, JSON.stringify(description));
    }
    return folder;
  }

  const withWrongHash = (wrong: string) =>
    modelsWith((model, description) => {
      if (model === wrong) description.sha256 = "0".repeat(64);
    });

  for (const wrong of [DEFAULT, RERANKER]) {
    test(`${wrong} weights with a hash other than in their description`, () => {
      const line = refusal(mkdtempSync(join(home, "empty-")), "--models-dir", withWrongHash(wrong));
      expect(line).toContain(join(wrong, "model.onnx"));
    });
  }

  test("vectors of another embedder", () => {
    expect(refusal(copy(), "--models-dir", withWrongHash(DEFAULT))).toContain("vectors");
  });
});
