// Models that are fetched: archives from an address or a file, and folders of a hub. Nothing damaged or hostile is
// added.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { zipSync } from "fflate";
import { pack } from "tar-stream";
import { ModelFilesError } from "../../src/adapters/inference/manifest-fields.ts";
import { createModelFiles } from "../../src/adapters/installation/model-folder.ts";

const FIXTURE = join(import.meta.dir, "fixtures/models/bert-mean");
const folder = mkdtempSync(join(tmpdir(), "mneme-pull-"));
const installedDir = join(folder, "installed");

type Answer = (request: Request) => Response;
let answer: Answer = () => new Response(null, { status: 404 });
const requests: Request[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request) => {
    requests.push(request);
    return answer(request);
  },
});
const address = `http://127.0.0.1:${server.port}`;
const files = createModelFiles({ installedDir, sourceDirs: null, hub: address });
const pathsOf = (root: string): string[] =>
  (readdirSync(root, { recursive: true }) as string[]).filter((name) => statSync(join(root, name)).isFile());

let archive: Buffer;
beforeAll(async () => {
  archive = await tarOf(pathsOf(FIXTURE).map((name) => [`bert-mean/${name}`, readFileSync(join(FIXTURE, name))]));
});
afterEach(() => {
  requests.length = 0;
  rmSync(installedDir, { recursive: true, force: true });
});
afterAll(async () => {
  await server.stop(true);
  rmSync(folder, { recursive: true });
});

async function tarOf(
  entries: readonly (readonly [
    name: string,
    content: Buffer | { readonly type: "symlink"; readonly linkname: string },
  ])[],
): Promise<Buffer> {
  const tar = pack();
  for (const [name, content] of entries) {
    if (Buffer.isBuffer(content)) tar.entry({ name }, content);
    else tar.entry({ name, ...content });
  }
  tar.finalize();
  const pieces: Buffer[] = [];
  for await (const piece of tar) pieces.push(piece as Buffer);
  return gzipSync(Buffer.concat(pieces));
}
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const install = (source: string, sum: string | null = null) => {
  const seen: number[] = [];
  const origin = { id: "pulled", source, sha256: sum };
  const onProgress = ({ bytesDone }: { readonly bytesDone: number }) => void seen.push(bytesDone);
  return files.install(origin, onProgress, new AbortController().signal).then((found) => ({ found, seen }));
};
const failure = (...of: Parameters<typeof install>) =>
  install(...of).then(
    () => "nothing failed",
    (error: Error) => error.message,
  );
const isAdded = () => existsSync(join(installedDir, "pulled/model.json"));

describe("an archive", () => {
  test("is downloaded, with its progress, and leaves only the model", async () => {
    answer = () => new Response(archive);
    const { found, seen } = await install(`${address}/bert.tar.gz`, sha256(archive));
    expect(found).toMatchObject({ task: "embed", dimensions: 32, licence: "MIT" });
    expect(seen.at(-1)).toBe(archive.length);
    expect(readdirSync(installedDir)).toEqual(["pulled"]);
  });

  test("is read from a file of this machine", async () => {
    const path = join(folder, "bert.tgz");
    writeFileSync(path, archive);
    expect((await install(path)).found.dimensions).toBe(32);
    expect(existsSync(path)).toBe(true);
  });

  test("with a checksum, a download that broke off continues where it stopped", async () => {
    const half = Math.floor(archive.length / 2);
    answer = () => new Response(archive.subarray(0, half));
    expect(await failure(`${address}/bert.tar.gz`, sha256(archive))).toContain("SHA-256");
    writeFileSync(join(installedDir, ".pulled.part"), archive.subarray(0, half));
    answer = (request) => {
      const from = Number(/bytes=(\d+)-/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
      return new Response(archive.subarray(from), { status: from > 0 ? 206 : 200 });
    };
    await install(`${address}/bert.tar.gz`, sha256(archive));
    expect(requests.at(-1)?.headers.get("range")).toBe(`bytes=${half}-`);
    expect(isAdded()).toBe(true);
  });

  test("that is not the expected one, damaged, or away adds nothing", async () => {
    answer = () => new Response(archive);
    expect(await failure(`${address}/bert.tar.gz`, "0".repeat(64))).toContain("not the expected one");
    answer = () => new Response(archive.subarray(0, archive.length - 900));
    expect(await failure(`${address}/bert.tar.gz`)).toMatch(/damaged|missing|no tokenizer|no ONNX/);
    answer = () => new Response("hello");
    expect(await failure(`${address}/bert.tar.gz`)).toContain("neither a ZIP archive nor");
    answer = () => new Response(null, { status: 503 });
    expect(await failure(`${address}/bert.tar.gz`)).toContain("answers 503");
    expect(isAdded()).toBe(false);
  });

  test("with paths that lead elsewhere, or links, is refused", async () => {
    const content = Buffer.from("x");
    const hostile = [
      await tarOf([["../escaped", content]]),
      await tarOf([["a/../../escaped", content]]),
      await tarOf([["/tmp/escaped", content]]),
      await tarOf([["link", { type: "symlink", linkname: "/etc" }]]),
    ];
    for (const bytes of hostile) {
      answer = () => new Response(bytes);
      expect(await failure(`${address}/bert.tar.gz`)).toMatch(/with the path|no plain file/);
      expect(existsSync(join(folder, "escaped"))).toBe(false);
      expect(existsSync(join(installedDir, "escaped"))).toBe(false);
    }
    expect(isAdded()).toBe(false);
  });
});

describe("a ZIP archive", () => {
  const whole = Buffer.from(
    zipSync(
      Object.fromEntries(pathsOf(FIXTURE).map((name) => [`bert-mean/${name}`, readFileSync(join(FIXTURE, name))])),
    ),
  );
  const changedAt = (at: number, value: number) => {
    const bytes = Buffer.from(whole);
    bytes[at] = value;
    return bytes;
  };
  // fields of the first entry (APPNOTE 4.3.12): flags (bit 0: encrypted) and method in the list at the end
  const listed = whole.indexOf("PK\x01\x02");
  const empty = (count: number) =>
    Buffer.from(zipSync(Object.fromEntries(Array.from({ length: count }, (_, at) => [`file-${at}`, Buffer.alloc(0)]))));

  test("is unpacked", async () => {
    answer = () => new Response(whole);
    expect((await install(`${address}/bert.zip`)).found.dimensions).toBe(32);
  });

  test.each<[string, Buffer, RegExp]>([
    ["that is cut off", whole.subarray(0, whole.length - 100), /cannot be unpacked\. The file is /],
    [
      "of which a file has another byte",
      changedAt(200, (whole[200] ?? 0) ^ 0xff),
      /cannot be unpacked\. The file is damaged/,
    ],
    ["that is encrypted", changedAt(listed + 8, 1), /cannot be unpacked\. .*password/],
    ["of an unknown method", changedAt(listed + 10, 99), /cannot be unpacked\. .*method 99/],
    ["of too many files", empty(1_001), /cannot be unpacked\. .*1,000/],
    ["without anything", Buffer.from("PK"), /cannot be unpacked\. /],
    ["with a path that leads elsewhere", Buffer.from(zipSync({ "../escaped": Buffer.from("x") })), /with the path/],
  ])("%s is refused, and adds nothing", async (_, bytes, message) => {
    answer = () => new Response(bytes);
    const error = await install(`${address}/bert.zip`).then(
      () => null,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(ModelFilesError);
    expect((error as Error).message).toMatch(message);
    expect(isAdded()).toBe(false);
  });
});

describe("a hub", () => {
  const tree = (change: (path: string) => object = () => ({})) =>
    pathsOf(FIXTURE).map((path) => {
      const bytes = readFileSync(join(FIXTURE, path));
      const lfs = path.endsWith(".onnx") ? { lfs: { oid: sha256(bytes) } } : {};
      return { type: "file", path, size: bytes.length, ...lfs, ...change(path) };
    });
  const serve =
    (files: readonly object[]): Answer =>
    ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname === "/api/models/acme/bert-mean/tree/main") return Response.json(files);
      const path = pathname.replace("/acme/bert-mean/resolve/main/", "");
      return new Response(readFileSync(join(FIXTURE, path)));
    };

  test("gives the files that a model needs, each checked, and no others", async () => {
    answer = serve([...tree(), { path: "pytorch_model.bin", size: 9 }, { path: "../x", size: 1 }]);
    expect((await install("hub:acme/bert-mean")).found).toMatchObject({ dimensions: 32, languages: ["en", "de"] });
    const asked = requests.map(({ url }) => new URL(url).pathname);
    expect(asked).toContain("/acme/bert-mean/resolve/main/onnx/model.onnx");
    expect(asked.some((path) => path.includes("pytorch_model") || path.includes("..") || path.endsWith("/x"))).toBe(
      false,
    );
    expect(readdirSync(installedDir)).toEqual(["pulled"]);
  });

  test("with other files than it says, or without ONNX, adds nothing", async () => {
    answer = serve(tree((path) => (path.endsWith(".onnx") ? { lfs: { oid: "0".repeat(64) } } : {})));
    expect(await failure("hub:acme/bert-mean")).toContain("SHA-256 differs");
    answer = serve(tree().filter(({ path }) => !path.endsWith(".onnx")));
    expect(await failure("hub:acme/bert-mean")).toContain("no ONNX file");
    answer = () => new Response(null, { status: 404 });
    expect(await failure("hub:acme/none")).toContain("answers 404");
    expect(isAdded()).toBe(false);
  });
});
