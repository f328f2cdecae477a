// Tests how an optional model is downloaded: it goes on after an interruption, and nothing appears that is not checked.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zipSync } from "fflate/browser";
import { modelArchive } from "../../scripts/release/optional-models.ts";
import { PullFailed } from "../../src/adapters/downloads/download.ts";
import { installedFolder, OPTIONAL_MODELS, type OptionalModel } from "../../src/adapters/downloads/optional-models.ts";
import { pullModel } from "../../src/adapters/downloads/pull.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const CONTENT = Buffer.from("the weights of a model ".repeat(2_000));
const ARCHIVE = zipSync({ "a/weights.onnx": CONTENT }, { level: 0 });

const MODEL: OptionalModel = {
  ...{ id: "tiny", folder: "tiny-model", name: "Tiny", licence: "MIT" },
  archive: { url: "http://127.0.0.1:9/none", bytes: ARCHIVE.length, sha256: sha256(ARCHIVE) },
  files: [{ name: "weights.onnx", path: "a/weights.onnx", bytes: CONTENT.length, sha256: sha256(CONTENT) }],
};

let folder: string;
let server: ReturnType<typeof Bun.serve>;
/** How many bytes an answer has before it breaks off. */
let bytesMax = Number.POSITIVE_INFINITY;
const ranges: (string | null)[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mneme-pull-"));
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const range = request.headers.get("range");
      ranges.push(range);
      const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
      return new Response(ARCHIVE.slice(from, from + bytesMax), { status: from > 0 ? 206 : 200 });
    },
  });
});
afterAll(async () => {
  await server.stop(true);
  rmSync(folder, { recursive: true });
});

test("a download goes on where it broke off, is checked, and is unpacked whole", async () => {
  const models = join(folder, "resumed");
  const from = `http://127.0.0.1:${server.port}/model`;
  bytesMax = 20_000;
  expect(pullModel(MODEL, models, { from })).rejects.toThrow(/ended after 20000 of \d+ bytes; the next try continues/);
  await pullModel(MODEL, models, { from }).catch((error: unknown) => error);
  expect(installedFolder(MODEL, [models])).toBeNull();
  bytesMax = Number.POSITIVE_INFINITY;
  const seen: number[] = [];
  const path = await pullModel(MODEL, models, { from, onBytes: (done) => seen.push(done) });
  expect(ranges.at(-1)).toMatch(/^bytes=(20000|40000)-$/);
  expect(seen.at(-1)).toBe(ARCHIVE.length);
  expect(readFileSync(join(path, "weights.onnx"))).toEqual(CONTENT);
  expect(installedFolder(MODEL, [folder, models])).toBe(path);
  expect(readdirSync(models)).toEqual(["tiny-model"]);
});

test("another file is refused, from an address and from a disk, and installs nothing", async () => {
  const models = join(folder, "refused");
  const wrong = { ...MODEL, archive: { ...MODEL.archive, sha256: "0".repeat(64) } };
  for (const from of [`http://127.0.0.1:${server.port}/model`, join(folder, "archive.zip")]) {
    writeFileSync(join(folder, "archive.zip"), ARCHIVE);
    expect(pullModel(wrong, models, { from })).rejects.toThrow("is not the expected file");
    await pullModel(wrong, models, { from }).catch((error: unknown) => error);
  }
  const changed = { ...MODEL, files: MODEL.files.map((file) => ({ ...file, sha256: "0".repeat(64) })) };
  expect(pullModel(changed, models, { from: join(folder, "archive.zip") })).rejects.toThrow(PullFailed);
  await pullModel(changed, models, { from: join(folder, "archive.zip") }).catch((error: unknown) => error);
  expect(installedFolder(changed, [models])).toBeNull();
  expect(pullModel(MODEL, models, { from: join(folder, "absent") })).rejects.toThrow("cannot be read");
});

test("a folder with a file of another size is not installed", async () => {
  const models = join(folder, "cut");
  writeFileSync(join(folder, "archive.zip"), ARCHIVE);
  const path = await pullModel(MODEL, models, { from: join(folder, "archive.zip") });
  writeFileSync(join(path, "weights.onnx"), "cut off");
  expect(installedFolder(MODEL, [models])).toBeNull();
});

test("each optional model has a public address or is made by the release, a licence and checksums", () => {
  for (const model of OPTIONAL_MODELS) {
    const { archive, files, licence } = model;
    if (archive.url === null) expect(sha256(modelArchive(model))).toBe(archive.sha256);
    else expect(new URL(archive.url).protocol).toBe("https:");
    expect(licence).not.toBe("");
    for (const { sha256: hash } of [archive, ...files]) expect(hash).toMatch(/^[0-9a-f]{64}$/);
  }
});
