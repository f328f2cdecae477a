// Tests how files get their pictures read: turns, limits per picture, and going on after a stop. The last tests use the
// real models; `npx -y bun run mneme models pull ocr` installs them.

import { afterEach, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDocumentReader } from "../../src/adapters/documents/document-reader.ts";
import { createPictureRecogniser, type RecogniserOptions } from "../../src/adapters/ocr/picture-recogniser.ts";
import { optionalModelFolder } from "../../src/compose/optional-models.ts";
import { recognisedAt } from "../../src/documents/recognition.ts";
import { createLog } from "../../src/kit/log.ts";
import { type DocumentFile, ReadFailure, UnreadPictures } from "../../src/ports/document-reader.ts";
import { representatives } from "../support/extent.ts";
import { until } from "../support/until.ts";

const FIXTURES = join(import.meta.dir, "fixtures");
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "mneme-ocr-"));
  closers.push(() => rmSync(path, { recursive: true }));
  return path;
}

function recogniser(options: Partial<RecogniserOptions> = {}) {
  const created = createPictureRecogniser({
    directory: folder(),
    modelFolder: () => "models",
    isKept: () => true,
    log: createLog("silent"),
    command: [process.execPath, join(FIXTURES, "odd-child.ts")],
    ...options,
  });
  closers.push(() => created.close());
  return created;
}

const picturesOf = (name: string, ids: readonly string[], share = name) => {
  return { mediaType: "image/tiff", locate: async () => name, name, ids, share };
};
const NEVER = new AbortController().signal;
const problems = (path: string) =>
  Object.fromEntries([...recognisedAt(path)].map(([id, { problem }]) => [id, problem]));

describe("with a child that fails", () => {
  test("a picture that takes too much or kills the child is noted, and the next ones are read", async () => {
    const pictures = recogniser({ memoryBytesMax: 400 * 1024 * 1024, processorMsMax: 3_000 });
    const done: number[] = [];
    const ids = ["1", "greedy", "2", "deadly", "busy", "3"];
    const path = await pictures.recognise(picturesOf("a", ids), (pages) => done.push(pages.done), NEVER);
    expect(problems(path)).toEqual({
      1: null,
      greedy: "takes more than 400 MiB of memory",
      2: null,
      deadly: "cannot be read",
      busy: "takes more than 3 s",
      3: null,
    });
    expect([done.at(0), done.at(-1)]).toEqual([0, 6]);
  });

  test("descriptions are kept with the texts, in any order, and say nothing about texts", async () => {
    const pictures = recogniser();
    await pictures.keepDescription("a", "2", "A pier.");
    expect(await pictures.describedOf("a")).toEqual(new Set(["2"]));
    const path = await pictures.recognise(picturesOf("a", ["1", "2"]), () => undefined, NEVER);
    await pictures.keepDescription("a", "1", "A mole.");
    const found = [...recognisedAt(path).values()];
    expect(found.map(({ id, description, width }) => [id, description, width > 0])).toEqual([
      ["2", "A pier.", true],
      ["1", "A mole.", true],
    ]);
    await pictures.forget("a");
    expect(await pictures.describedOf("a")).toEqual(new Set());
  });

  test("a file whose pictures stop the child again and again is given up", async () => {
    const ids = Array.from({ length: 12 }, (_, at) => `deadly${at}`);
    const path = await recogniser().recognise(picturesOf("a", ids), () => undefined, NEVER);
    const found = Object.values(problems(path));
    expect(found.filter((problem) => problem === "cannot be read")).toHaveLength(10);
    expect(found.at(-1)).toBe("was left out, because earlier ones took too much");
  });

  test("a picture of another project is read before the rest of a long scan", async () => {
    const pictures = recogniser();
    const order: string[] = [];
    const read = (name: string, count: number) =>
      pictures.recognise(
        picturesOf(
          name,
          Array.from({ length: count }, (_, at) => String(at + 1)),
        ),
        ({ done, total }) => done === total && order.push(name),
        NEVER,
      );
    await Promise.all([read("scan", 30), read("picture", 1)]);
    expect(order).toEqual(["picture", "scan"]);
  });

  test("what was read is not read again, also after a kill in the middle of a line; then it is forgotten", async () => {
    const directory = folder();
    const first = recogniser({ directory });
    const stop = new AbortController();
    const stopped = first.recognise(picturesOf("a", ["1", "slow", "3"]), () => undefined, stop.signal);
    await until("two pictures are read", () => recognisedAt(join(directory, "a")).size === 2);
    stop.abort(new Error("the memory was deleted"));
    expect(stopped).rejects.toThrow("the memory was deleted");
    await stopped.catch((error: unknown) => error);
    await first.close();
    appendFileSync(join(directory, "a"), '{"id":"3","wid');
    const second = recogniser({ directory });
    const seen: number[] = [];
    const path = await second.recognise(picturesOf("a", ["1", "slow", "3"]), ({ done }) => seen.push(done), NEVER);
    expect(seen[0]).toBe(2);
    expect([...recognisedAt(path).keys()]).toEqual(["1", "slow", "3"]);
    await second.forget("a");
    expect(readdirSync(directory)).toEqual([]);
  });

  test("the file is located again in each turn, because its copy may be removed while others are read", async () => {
    const pictures = recogniser();
    const located: string[] = [];
    const read = (name: string, ids: readonly string[]) => {
      const locate = async () => `${name} ${located.push(name)}`;
      return pictures.recognise({ ...picturesOf(name, ids), locate }, () => undefined, NEVER);
    };
    await Promise.all([read("scan", ["1", "2", "3", "4"]), read("picture", ["1"])]);
    expect(located).toEqual(["scan", "picture", "scan"]);
  });

  test("texts of files that are not kept any more are removed at the start", () => {
    const directory = folder();
    for (const name of ["kept", "gone"]) appendFileSync(join(directory, name), "");
    recogniser({ directory, isKept: (name) => name === "kept" });
    expect(readdirSync(directory)).toEqual(["kept"]);
  });

  test("closing ends what waits", async () => {
    const pictures = recogniser();
    const calls = ["slow", "other"].map((name) =>
      pictures.recognise(picturesOf(name, [name, "2"]), () => undefined, NEVER),
    );
    const ended = Promise.allSettled(calls);
    await pictures.close();
    expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

const MODELS = optionalModelFolder("ocr", { modelsDir: join(import.meta.dir, "../../data/models"), dataDir: tmpdir() });
if (MODELS === null) process.stderr.write("skipped: tests with text recognition; npx -y bun run setup installs it\n");

describe.skipIf(MODELS === null)("with the models", () => {
  const files = [
    ["note.png", "image/png"],
    ["note.tif", "image/tiff"],
    ["note.pdf", "application/pdf"],
  ] as const;
  test.each(representatives(files, () => "any"))("%s is read, with its confidence", async (filename, mediaType) => {
    const documents = createDocumentReader({ log: createLog("silent") });
    closers.push(() => documents.close());
    const pictures = recogniser({ modelFolder: () => MODELS, command: undefined });
    const path = join(FIXTURES, filename);
    const file: DocumentFile = { path, bytes: Bun.file(path).size, filename, mediaType };
    const listed = await documents.read({ ...file, recognition: { kind: "wanted" } });
    if (!(listed instanceof UnreadPictures)) throw new Error("no pictures were found");
    expect(listed.ids).toEqual(["1"]);
    const texts = await pictures.recognise(
      { mediaType, locate: async () => path, name: "a", ids: listed.ids, share: "a" },
      () => undefined,
      NEVER,
    );
    expect(existsSync(texts)).toBe(true);
    const text = await documents.read({ ...file, recognition: { kind: "done", path: texts } });
    if (text instanceof ReadFailure) throw text;
    const lines = String(text.content).split(/\n+/);
    expect(lines).toEqual([
      "The spare key is under the blue pot.",
      "Der Schlüssel hängt 5 m weiter.",
      "鍵は青い鉢の下にあります。",
    ]);
    const [mark] = text.marks;
    expect(mark?.place).toMatchObject({ page: 1 });
    expect(mark?.place.ocrConfidence).toBeWithin(0.85, 1);
  });
});
