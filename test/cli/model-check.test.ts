// `mneme models check`: the installed models as an operator sees them, good ones and bad ones.

import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMneme } from "../support/command.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-model-check-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const check = (...argv: readonly string[]) => runMneme(["models", "check", ...argv], folder);

/** A folder with a copy of the English embedder, with links instead of its large files. */
function modelsWith(id: string): string {
  const models = mkdtempSync(join(folder, "models-"));
  mkdirSync(join(models, id));
  cpSync(join(MODELS_DIR, ENGLISH, "model.json"), join(models, id, "model.json"));
  for (const file of ["model.onnx", "tokenizer.json"]) {
    symlinkSync(join(MODELS_DIR, ENGLISH, file), join(models, id, file));
  }
  return models;
}

describe("mneme models check", () => {
  test("shows the shipped models with kind, dimensions, languages, licence and size, all verified", () => {
    const { exitCode, stdout, stderr } = check();
    expect([exitCode, stderr]).toEqual([0, ""]);
    const [head, ...rows] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^MODEL +KIND +DIMENSIONS +LANGUAGES +LICENCE +SIZE +STATE$/);
    const row = (id: string) => rows.find((line) => line.startsWith(`${id} `))?.split(/ {2,}/);
    expect(row(ENGLISH)).toEqual([ENGLISH, "embedder", "384", "en", "Apache-2.0", "36 MB", "verified"]);
    expect(row(MULTILINGUAL)).toEqual([MULTILINGUAL, "embedder", "384", "94", "MIT", "80 MB", "verified"]);
    expect(rows.every((line) => line.endsWith("verified"))).toBeTrue();
  });

  test("a model whose files differ, or whose manifest is not valid, has a line that says why; exit code 1", () => {
    const models = modelsWith(ENGLISH);
    const other = modelsWith("other");
    cpSync(join(other, "other"), join(models, "other"), { recursive: true, verbatimSymlinks: true });
    mkdirSync(join(models, "mneme-reranker-minilm-l6"));
    for (const file of ["model.json", "model.onnx"]) {
      symlinkSync(join(MODELS_DIR, "mneme-reranker-minilm-l6", file), join(models, "mneme-reranker-minilm-l6", file));
    }
    rmSync(join(models, ENGLISH, "tokenizer.json"));
    writeFileSync(join(models, ENGLISH, "tokenizer.json"), "{}");
    const { exitCode, stdout } = check("--models-dir", models);
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`${join(models, ENGLISH, "tokenizer.json")} does not match its model.json`);
    expect(stdout).toContain(`${join(models, "other", "model.json")}: id must be "other", not "${ENGLISH}"`);
    const missing = join(models, "mneme-reranker-minilm-l6", "tokenizer.json");
    expect(stdout).toContain(`${missing} is missing, but its model.json names it`);
    const found = JSON.parse(check("--models-dir", models, "--json").stdout);
    expect(
      found.models.map(({ id, problem }: { id: string; problem: string | null }) => [id, problem !== null]),
    ).toEqual([
      [ENGLISH, true],
      ["mneme-reranker-minilm-l6", true],
      ["other", true],
    ]);
  });

  test("a folder without models says so, a missing folder is an error in one line", () => {
    const empty = mkdtempSync(join(folder, "empty-"));
    expect(check("--models-dir", empty)).toMatchObject({ exitCode: 0, stdout: `There are no models in ${empty}.\n` });
    const { exitCode, stderr } = check("--models-dir", join(folder, "nowhere"));
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^mneme: .*nowhere cannot be read.*\n$/);
  });
});
