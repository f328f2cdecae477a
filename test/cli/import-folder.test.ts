// `mneme import FOLDER`: a real folder and a real server, which tests drive look by look with a clock of their own.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { lstat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { Client } from "../../src/cli/client.ts";
import { readState } from "../../src/cli/folder/state.ts";
import { externalIdOf, FolderSync, SETTLE_MS } from "../../src/cli/folder/sync.ts";
import { filesIn } from "../../src/cli/folder/walk.ts";
import { importFolder, isImportOfFolder, parseImportFolderOptions } from "../../src/cli/import-folder.ts";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let mneme: TestService;
let server: ReturnType<typeof Bun.serve>;
/** Requests that the server answers with 500 instead, by path; and whether it is there at all. */
let isBroken = (_: Request) => false;
beforeAll(async () => {
  mneme = await startService({ ports: WORD_PORTS });
  server = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1", maxRequestBodySize: 200 * 1024 * 1024 },
    fetch: async (request) => (isBroken(request) ? new Response("no", { status: 500 }) : mneme.service.handle(request)),
  });
});
afterAll(async () => {
  await server?.stop(true);
  await mneme?.stop();
});

const base = mkdtempSync(join(tmpdir(), "mneme-folder-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));
let root = "";
let clock: SettableClock;
let lines: string[] = [];
let count = 0;
beforeEach(() => {
  isBroken = () => false;
  root = join(base, `notes ${count++}`);
  mkdirSync(root);
  clock = new SettableClock();
  lines = [];
});

const LONG_AGO = 1_600_000_000;
/** Writes a file that was last changed long ago, or now. */
function put(path: string, content: string | Uint8Array, changed: "long ago" | "now" = "long ago"): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
  if (changed === "long ago") utimesSync(join(root, path), LONG_AGO, LONG_AGO);
}

/** Looks a path up as macOS and Windows do: whatever the case and the Unicode form of its names. */
async function lookUpAnyCase(path: string): Promise<unknown> {
  const folded = (name: string) => name.normalize("NFD").toLowerCase();
  let found = root;
  for (const name of relative(root, path).split("/")) {
    found = join(found, readdirSync(found).find((each) => folded(each) === folded(name)) ?? name);
  }
  return lstat(found);
}

/** A run of the command on the folder: it knows what an earlier one wrote. */
function run(
  deletes = false,
  { url = `http://127.0.0.1:${server.port}`, lookUp = undefined as typeof lookUpAnyCase | undefined } = {},
): FolderSync {
  const statePath = join(base, `${root.split("/").at(-1)}.json`);
  const state = readState(statePath);
  if (state === null) throw new Error("the state is damaged");
  const report = { say: (line: string) => void lines.push(line), progress: () => undefined };
  const client = new Client(url, TEST_KEY, clock);
  return new FolderSync({ root, userId: null, deletes, statePath }, state, {
    client,
    clock,
    report,
    ...(lookUp && { lookUp }),
  });
}

/** The memories of the folder: path and text, by id. */
async function stored(): Promise<ReadonlyMap<string, readonly [path: string, content: string]>> {
  return until("all is processed", async () => {
    const { body } = await mneme.call("GET", "/v1/memories?limit=100");
    const prefix = externalIdOf(root, "");
    const own = body.data.filter(({ externalId }: { externalId: string | null }) => externalId?.startsWith(prefix));
    if (own.some(({ status }: { status: string }) => status === "processing")) return null;
    return new Map(
      own.map((each: { id: string; metadata: { path: string }; content: string }) => [
        each.id,
        [each.metadata.path, each.content] as const,
      ]),
    );
  });
}
const contents = async () => Object.fromEntries([...(await stored()).values()].toSorted());
const idOf = async (path: string) => [...(await stored())].find(([, [of]]) => of === path)?.[0];

describe("a pass", () => {
  test("sends what is new and changed, and a second one reads and sends nothing", async () => {
    put("a.txt", "Alpha.");
    put("sub/deep/b.md", "Beta.");
    expect(await run().pass()).toMatchObject({ files: 2, sent: 2, waiting: 0, failing: 0 });
    expect(await contents()).toEqual({ "a.txt": "Alpha.", "sub/deep/b.md": "Beta." });
    expect(await run().pass()).toMatchObject({ files: 2, sent: 0, moved: 0, deleted: 0 });
    const id = await idOf("a.txt");
    put("a.txt", "Alpha, changed.");
    expect(await run().pass()).toMatchObject({ sent: 1 });
    expect(await contents()).toEqual({ "a.txt": "Alpha, changed.", "sub/deep/b.md": "Beta." });
    expect(await idOf("a.txt")).toBe(id);
    // only the time is another one
    utimesSync(join(root, "a.txt"), LONG_AGO + 5, LONG_AGO + 5);
    expect(await run().pass()).toMatchObject({ sent: 0 });
  });

  test("without its state sends all again, and nothing is there twice", async () => {
    for (let n = 0; n < 12; n++) put(`${n}.txt`, `Number ${n}.`);
    expect(await run().pass()).toMatchObject({ sent: 12 });
    const before = await stored();
    rmSync(join(base, `${root.split("/").at(-1)}.json`));
    expect(await run().pass()).toMatchObject({ sent: 12 });
    expect(await stored()).toEqual(before);
  });

  test("that was stopped goes on where it was", async () => {
    for (let n = 0; n < 12; n++) put(`${n}.txt`, `Number ${n}.`);
    const stop = new AbortController();
    let asked = 0;
    isBroken = () => {
      if (++asked === 10) stop.abort();
      return false;
    };
    const { sent } = await run().pass(stop.signal);
    expect(sent).toBeLessThan(12);
    expect(await run().pass()).toMatchObject({ sent: 12 - sent });
    expect(Object.keys(await contents())).toHaveLength(12);
  });

  test("moves the memory of a file that was moved or renamed, alone or with its folder", async () => {
    put("a.txt", "Alpha.");
    put("old/b.txt", "Beta.");
    put("old/c.txt", "Gamma.");
    await run().pass();
    const before = [await idOf("a.txt"), await idOf("old/b.txt"), await idOf("old/c.txt")];
    renameSync(join(root, "a.txt"), join(root, "z.txt"));
    renameSync(join(root, "old"), join(root, "new"));
    expect(await run(true).pass()).toMatchObject({ sent: 0, moved: 3, deleted: 0 });
    expect([await idOf("z.txt"), await idOf("new/b.txt"), await idOf("new/c.txt")]).toEqual(before);
    expect(await run().pass()).toMatchObject({ sent: 0, moved: 0 });
    // a copy is a file of its own, and another ending can be another format
    put("copy.txt", "Alpha.");
    renameSync(join(root, "new/b.txt"), join(root, "new/b.md"));
    expect(await run().pass()).toMatchObject({ sent: 2, moved: 0 });
  });

  test("moves the memory of a file whose name changes only by case or Unicode form, and never loses it", async () => {
    for (const lookUp of [undefined, lookUpAnyCase]) {
      const [composed, decomposed] = ["Caf\u00e9.txt", "Cafe\u0301.txt"];
      put("a.md", "Alpha.");
      put("Docs/x.txt", "The same.");
      put("Docs/y.txt", "The same.");
      put(composed, "Coffee.");
      put("b.txt", "Beta.");
      put("end.txt", "End.");
      expect(await run(true, { lookUp }).pass()).toMatchObject({ failing: 0, waiting: 0 });
      const names = [
        ["a.md", "A.md"],
        ["Docs/x.txt", "docs/X.txt"],
        ["Docs/y.txt", "docs/y.TXT"],
        [composed, decomposed],
        ["b.txt", "B.txt"],
      ] as const;
      const before = await Promise.all(names.map(([old]) => idOf(old)));
      renameSync(join(root, "Docs"), join(root, "docs"));
      for (const [old, next] of names) renameSync(join(root, old.replace("Docs", "docs")), join(root, next));
      put("B.txt", "Beta, changed too.");
      expect(await run(true, { lookUp }).pass()).toMatchObject({ moved: 4, sent: 1, deleted: 0, left: 0, failing: 0 });
      expect(await Promise.all(names.map(([, next]) => idOf(next)))).toEqual(before);
      expect(await contents()).toEqual({
        ...{ "A.md": "Alpha.", "docs/X.txt": "The same.", "docs/y.TXT": "The same.", [decomposed]: "Coffee." },
        ...{ "B.txt": "Beta, changed too.", "end.txt": "End." },
      });
      const second = run(true, { lookUp });
      for (let look = 0; look < 3; look++) {
        expect(await second.pass()).toMatchObject({ moved: 0, sent: 0, deleted: 0, waiting: 0, left: 0 });
        clock.advance(SETTLE_MS);
      }
      expect((await stored()).size).toBe(6);
      // what is really gone is deleted
      rmSync(join(root, "A.md"));
      const third = run(true, { lookUp });
      await third.pass();
      clock.advance(SETTLE_MS);
      expect(await third.pass()).toMatchObject({ deleted: 1 });
      expect(await idOf("A.md")).toBeUndefined();
      for (const id of (await stored()).keys()) await mneme.call("DELETE", `/v1/memories/${id}`);
      rmSync(join(base, `${root.split("/").at(-1)}.json`));
      for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
    }
  });

  test("keeps the memory of a renamed file until the file can be sent under its new name", async () => {
    put("log.txt", "One.");
    put("other.txt", "Other.");
    await run().pass();
    const id = await idOf("log.txt");
    rmSync(join(root, "log.txt"));
    const watched = run(true, { lookUp: lookUpAnyCase });
    for (let look = 0; look < 4; look++) {
      put("LOG.txt", `One, and ${"more, ".repeat(look)}`); // it is being written all the time
      utimesSync(join(root, "LOG.txt"), clock.now() / 1000, clock.now() / 1000);
      expect(await watched.pass()).toMatchObject({ sent: 0, deleted: 0 });
      clock.advance(SETTLE_MS);
      expect(await idOf("log.txt")).toBe(id);
    }
    put("LOG.txt", "Two.");
    expect(await watched.pass()).toMatchObject({ sent: 1, deleted: 0 });
    expect(await contents()).toEqual({ "LOG.txt": "Two.", "other.txt": "Other." });
    expect(await idOf("LOG.txt")).toBe(id);
  });

  test("waits for files that are being written", async () => {
    put("a.txt", "Alpha", "now");
    const sync = run();
    expect(await sync.pass()).toMatchObject({ sent: 0, waiting: 1 });
    clock.advance(SETTLE_MS - 500);
    appendFileSync(join(root, "a.txt"), " and more.");
    expect(await sync.pass()).toMatchObject({ sent: 0, waiting: 1 });
    clock.advance(SETTLE_MS + 500);
    expect(await sync.pass()).toMatchObject({ sent: 1, waiting: 0 });
    expect(await contents()).toEqual({ "a.txt": "Alpha and more." });
    // a clock that is ahead: what does not change any more is complete
    put("b.txt", "Beta.");
    const ahead = clock.now() / 1000 + 86_400;
    utimesSync(join(root, "b.txt"), ahead, ahead);
    expect(await sync.pass()).toMatchObject({ sent: 0, waiting: 1 });
    clock.advance(SETTLE_MS);
    expect(await sync.pass()).toMatchObject({ sent: 1 });
  });

  test("names files that are refused, and tries them again only when they have changed", async () => {
    put("a.txt", "Alpha.");
    put("moving.gif", Buffer.from("GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0", "latin1"));
    put("empty.txt", "");
    const sync = run();
    expect(await sync.pass()).toMatchObject({ sent: 1, failing: 0 });
    expect(lines.toSorted()).toEqual(["empty.txt is empty", expect.stringMatching(/^moving\.gif was refused: /)]);
    lines = [];
    expect(await run().pass()).toMatchObject({ sent: 0 });
    expect(lines).toEqual([]);
    put("empty.txt", "Not empty any more.");
    expect(await sync.pass()).toMatchObject({ sent: 1 });
  });

  test("names a file that fails, tries it again later, and sends the others meanwhile", async () => {
    for (const name of ["a", "b", "c"]) put(`${name}.txt`, `${name}.`);
    let failing = 1;
    isBroken = () => failing-- > 0;
    const sync = run();
    expect(await sync.pass()).toMatchObject({ sent: 2, failing: 1 });
    expect(lines).toEqual([expect.stringMatching(/^[abc]\.txt failed and will be tried again/)]);
    expect(await sync.pass()).toMatchObject({ sent: 0, failing: 1 });
    clock.advance(60_000);
    expect(await sync.pass()).toMatchObject({ sent: 1, failing: 0 });
    expect(Object.keys(await contents())).toHaveLength(3);
  });
});

describe("files that are gone", () => {
  const gone = async (deletes: boolean) => {
    const sync = run(deletes);
    const first = await sync.pass();
    clock.advance(SETTLE_MS);
    return [first, await sync.pass()] as const;
  };

  test("keep their memories, and lose them with --delete after two looks", async () => {
    put("a.txt", "Alpha.");
    put("b.txt", "Beta.");
    await run().pass();
    rmSync(join(root, "a.txt"));
    expect((await gone(false))[1]).toMatchObject({ deleted: 0, left: 1 });
    expect(Object.keys(await contents())).toEqual(["a.txt", "b.txt"]);
    const [first, second] = await gone(true);
    expect([first.deleted, first.waiting, second.deleted]).toEqual([0, 1, 1]);
    expect(Object.keys(await contents())).toEqual(["b.txt"]);
  });

  test("are not deleted because the folder is empty, missing or unreadable, or because a rule leaves them out", async () => {
    put("a.txt", "Alpha.");
    put("sub/b.txt", "Beta.");
    await run().pass();
    const aside = `${root} aside`;
    renameSync(root, aside);
    expect((await gone(true))[1]).toMatchObject({ files: 0, deleted: 0 });
    mkdirSync(root);
    expect((await gone(true))[1]).toMatchObject({ files: 0, deleted: 0 });
    mkdirSync(join(root, "sub"));
    expect((await gone(true))[1]).toMatchObject({ files: 0, deleted: 0 });
    expect(lines.join("\n")).toContain("is empty");
    rmSync(root, { recursive: true });
    renameSync(aside, root);
    put(".mnemeignore", "sub/\n");
    expect((await gone(true))[1]).toMatchObject({ deleted: 0 });
    rmSync(join(root, ".mnemeignore"));
    if (process.getuid?.() !== 0) {
      chmodSync(join(root, "sub"), 0);
      expect((await gone(true))[1]).toMatchObject({ deleted: 0 });
      chmodSync(join(root, "sub"), 0o700);
    }
    expect(Object.keys(await contents())).toEqual(["a.txt", "sub/b.txt"]);
  });

  test("are not deleted while the disk of their folder is not mounted", async () => {
    put("a.txt", "Alpha.");
    put("disk/b.txt", "Beta.");
    await run().pass();
    const path = join(base, `${root.split("/").at(-1)}.json`);
    const noted = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...noted, mounts: ["disk"] })); // as if it had been a mount point
    rmSync(join(root, "disk/b.txt"));
    expect((await gone(true))[1]).toMatchObject({ deleted: 0, left: 1 });
    writeFileSync(path, JSON.stringify({ ...noted, mounts: [""] }));
    rmSync(join(root, "a.txt"));
    put("other.txt", "Of the folder below the mount point.");
    expect((await gone(true))[1]).toMatchObject({ deleted: 0, sent: 0 });
    expect(lines.join("\n")).toContain("is not mounted");
    expect(Object.keys(await contents())).toEqual(["a.txt", "disk/b.txt"]);
  });
});

describe("the files of a folder", () => {
  const paths = async () => [...(await filesIn(root)).files.keys()];

  test("are those that no .mnemeignore leaves out, inner ones after outer ones", async () => {
    const all = [
      "a.log",
      "keep.log",
      "b.txt",
      ".hidden",
      ".env",
      "sub/c.log",
      "sub/d.txt",
      "sub/e/f.txt",
      "node_modules/x.js",
    ];
    for (const path of [...all, "build/out.txt", "~$a.docx", "x.tmp"]) put(path, "x");
    put(".mnemeignore", "# logs\n*.log\n!keep.log\n/build/\n!.env\n");
    put("sub/.mnemeignore", "!c.log\n/e/\n");
    expect(await paths()).toEqual([".env", "b.txt", "keep.log", "sub/c.log", "sub/d.txt"]);
  });

  test("are never those behind a link", async () => {
    const outside = mkdtempSync(join(base, "outside-"));
    writeFileSync(join(outside, "secret.txt"), "secret");
    put("a.txt", "Alpha.");
    symlinkSync(join(outside, "secret.txt"), join(root, "link.txt"));
    symlinkSync(outside, join(root, "folder"));
    symlinkSync(root, join(root, "loop"));
    symlinkSync(join(root, "nowhere"), join(root, "broken"));
    expect(await paths()).toEqual(["a.txt"]);
    expect(await run().pass()).toMatchObject({ files: 1, sent: 1 });
  });
});

describe("the command", () => {
  const environment = { MNEME_API_KEY: TEST_KEY, XDG_STATE_HOME: join(base, "state") };

  test("is chosen for folders, and refuses what it cannot do", () => {
    expect(isImportOfFolder([root])).toBe(true);
    expect(isImportOfFolder(["notes.jsonl", "--user", root])).toBe(false);
    expect(isImportOfFolder(["project.jsonl", "--data-dir", root])).toBe(false);
    expect(isImportOfFolder(["--wait", root])).toBe(true);
    expect(isImportOfFolder(["--url=http://localhost", root])).toBe(true);
    expect(isImportOfFolder(["not-mounted", "--watch"])).toBe(true);
    expect(parseImportFolderOptions([root, "--watch", "--user", "ada"], environment)).toMatchObject({
      ...{ root, userId: "ada", watches: true, deletes: false, url: "http://127.0.0.1:8383" },
      statePath: expect.stringContaining(join(base, "state", "mneme", "folders")),
    });
    for (const argv of [
      [],
      [root, "b"],
      [join(root, "none")],
      [root, "--batch", "5"],
      [root, "--delete", "--delete"],
    ]) {
      expect(() => parseImportFolderOptions(argv, environment)).toThrow();
    }
    expect(() => parseImportFolderOptions([root], {})).toThrow("MNEME_API_KEY");
    expect(externalIdOf("/a", "b.txt")).not.toBe(externalIdOf("/b", "b.txt"));
    expect(externalIdOf("/a", "x".repeat(500)).length).toBeLessThanOrEqual(256);
  });

  test("stores a folder once, and with --watch also what comes later, until it is stopped", async () => {
    put("a.txt", "Alpha.");
    const url = `http://127.0.0.1:${server.port}`;
    const options = parseImportFolderOptions([root, "--url", url], environment);
    const stop = new AbortController();
    expect(await importFolder(options, stop.signal)).toBe(true);
    expect(await contents()).toEqual({ "a.txt": "Alpha." });
    const watching = importFolder({ ...options, watches: true }, stop.signal);
    put("b.txt", "Beta.");
    await until("the new file is stored", async () => Object.keys(await contents()).length === 2);
    stop.abort();
    expect(await watching).toBe(true);
  });
});
