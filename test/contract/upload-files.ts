// Contract of UploadFiles (src/ports/upload-files.ts). Every implementation must pass it; `open` creates the one to
// test.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Clock } from "../../src/kit/clock.ts";
import type { UploadFiles } from "../../src/ports/upload-files.ts";
import { inTurn } from "./stores.ts";

/** Opened files. `reopen` opens them again, like the next start of the server; `remove` deletes everything. */
export interface OpenedUploadFiles {
  readonly files: UploadFiles;
  reopen(): UploadFiles;
  remove(): void;
}

/** Opens UploadFiles that have no files yet. */
export type OpenUploadFiles = (clock: Clock) => OpenedUploadFiles;

/** Runs the contract against the UploadFiles that `open` makes. */
export function uploadFilesContract(implementation: string, open: OpenUploadFiles): void {
  describe(`${implementation} as UploadFiles`, () => {
    let nowMs: number;
    let opened: OpenedUploadFiles;
    let files: UploadFiles;

    beforeEach(async () => {
      nowMs = 0;
      opened = open({ now: () => nowMs, sleep: () => Promise.resolve() });
      ({ files } = opened);
    });
    afterEach(() => opened.remove());

    const receive = async (...pieces: readonly string[]) => {
      const file = await files.begin();
      for (const piece of pieces) await file.write(Buffer.from(piece));
      return file;
    };
    const keep = async (...pieces: readonly string[]) => {
      const file = await receive(...pieces);
      await file.end();
      return files.keep(file.path);
    };
    const contentOf = (name: string, of = files) => readFileSync(of.pathOf(name), "utf8");

    test("an incoming file that has ended can be read at its path, all of it in the order of writing", async () => {
      const file = await receive("Grüße ", "", "😀", "x".repeat(300_000));
      await file.end();
      expect(readFileSync(file.path, "utf8")).toBe(`Grüße 😀${"x".repeat(300_000)}`);
    });

    test("a kept file is in its permanent place under a unique name, readable by its owner only", async () => {
      const names = [await keep("one"), await keep("two"), await keep()];
      expect(new Set(names).size).toBe(3);
      expect(names.map((name) => contentOf(name))).toEqual(["one", "two", ""]);
      expect(names.map((name) => statSync(files.pathOf(name)).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
      expect([...(await files.names(0))].sort()).toEqual(names.sort());
    });

    test("keeping moves the file", async () => {
      const file = await receive("text");
      await file.end();
      await files.keep(file.path);
      expect(existsSync(file.path)).toBe(false);
    });

    test("a kept text is read back, wherever its characters lie; a damaged or missing one is not", async () => {
      for (const start of ["", "x", "xx", "xxx"]) {
        const text = `${start}${"\ufeff漢é😀 plain ".repeat(120_000)}`; // several pieces, cut within each character
        const sha256 = new Bun.CryptoHasher("sha256").update(text).digest("hex");
        const file = { name: await keep(text), sha256 };
        const read = await files.readText(file);
        if (typeof read === "string") throw new Error(read);
        expect([read.length, read.bytes]).toEqual([text.length, Buffer.byteLength(text)]);
        expect(read.slice(0) === text).toBe(true);
        expect([...read.pieces()].join("") === text).toBe(true);
        expect(read.slice(1_040_000, 1_060_000) === text.slice(1_040_000, 1_060_000)).toBe(true);
        expect(await files.readText({ ...file, sha256: "0".repeat(64) })).toBe("damaged");
        expect(await files.readText({ ...file, name: `${file.name}-2` })).toBe("missing");
      }
    });

    test("files that arrive at the same time do not mix", async () => {
      const arriving = await inTurn(["a", "b", "c"], () => files.begin());
      for (let round = 0; round < 20; round++) {
        await Promise.all(arriving.map((file, at) => file.write(Buffer.from(`${at}`))));
      }
      const names = await inTurn(arriving, async (file) => {
        await file.end();
        return files.keep(file.path);
      });
      expect(names.map((name) => contentOf(name))).toEqual(["0", "1", "2"].map((digit) => digit.repeat(20)));
    });

    test("discarding removes what was not kept, before and after its end, any number of times", async () => {
      const [open, ended] = [await receive("text"), await receive("text")];
      await ended.end();
      for (const file of [open, ended, open]) await file.discard();
      expect([open, ended].map(({ path }) => existsSync(path))).toEqual([false, false]);
      expect(await files.names(0)).toEqual([]);
    });

    test("discarding a file that was kept leaves it", async () => {
      const file = await receive("text");
      await file.end();
      const name = await files.keep(file.path);
      await file.discard();
      expect(contentOf(name)).toBe("text");
    });

    test("remove deletes a kept file, and does nothing if the file does not exist", async () => {
      const [gone, kept] = [await keep("gone"), await keep("kept")];
      await files.remove(gone);
      await files.remove(gone);
      await files.remove("never-kept");
      expect(existsSync(files.pathOf(gone))).toBe(false);
      expect(await files.names(0)).toEqual([kept]);
    });

    test("what could not be removed is removed by removeAgain, when that is possible", async () => {
      const [incoming, name] = [await receive("text"), await keep("text")];
      await incoming.end();
      const paths = [incoming.path, files.pathOf(name)];
      for (const path of paths) {
        rmSync(path);
        mkdirSync(path); // a file cannot be removed as long as a folder has its name
      }
      await incoming.discard();
      await files.remove(name);
      await files.removeAgain();
      expect(paths.map((path) => existsSync(path))).toEqual([true, true]);
      for (const path of paths) {
        rmSync(path, { recursive: true });
        writeFileSync(path, "text");
      }
      await files.removeAgain();
      expect(paths.map((path) => existsSync(path))).toEqual([false, false]);
    });

    test("names returns the files that were last written at least that long ago", async () => {
      const name = await keep("text");
      const { mtimeMs } = statSync(files.pathOf(name));
      nowMs = mtimeMs + 5_000;
      expect(await files.names(5_000)).toEqual([name]);
      expect(await files.names(5_001)).toEqual([]);
      expect(await files.names(0)).toEqual([name]);
    });

    test("the next start has the kept files, and none that was still incoming", async () => {
      const kept = await keep("kept");
      const [ended, open] = [await receive("ended"), await receive("open")];
      await ended.end();
      const later = opened.reopen();
      expect(await later.names(0)).toEqual([kept]);
      expect(contentOf(kept, later)).toBe("kept");
      expect([ended, open].map(({ path }) => existsSync(path))).toEqual([false, false]);
      await open.discard();
    });
  });
}
