// `mneme backup` and `mneme restore`: backups under write load restore to a state that was acknowledged, a second
// backup stores what is new, damage is refused with the name of the object, and nothing is half restored.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FolderTarget } from "../../src/backup/folder.ts";
import { TargetLock } from "../../src/backup/lock.ts";
import { backup, restore } from "../../src/cli/backup.ts";
import { exportProject } from "../../src/cli/project-copy.ts";
import { verifyCommand } from "../../src/cli/verify.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import { expectWhole, listAll, note, storeBatch } from "../crash/notes.ts";
import { rounds } from "../support/extent.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startServer } from "../support/server.ts";
import { startService, type TestService } from "../support/service.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

/** A whole number beyond the precision of a double. */
const BIG = parseJson("-12345678901234567890");

/** Number of backups under write load; MNEME_TEST_BACKUPS=20 for the long form. */
const BACKUPS = rounds("MNEME_TEST_BACKUPS", { all: 3, short: 1 });
/** Number of these in which a search has to find the memories, too. */
const BACKUPS_SEARCHED = 3;

const folder = mkdtempSync(join(tmpdir(), "mneme-backup-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = (name: string) => join(folder, name);
const start = (environment: Readonly<Record<string, string>> = {}) => ({
  environment,
  place: { workingDirectory: folder, shippedModelsDirectory: () => join(import.meta.dir, "../../data/models") },
});
const exportOf = async (dataDir: string, name: string) => {
  await exportProject([path(name), "--data-dir", dataDir], start());
  return readFileSync(path(name), "utf8").split("\n").slice(1);
};
const failureOf = async (work: Promise<unknown>) => String(await work.catch(String));

test(
  `${BACKUPS} backups under write load restore to a state that was acknowledged`,
  async () => {
    await using server = await startServer({ environment: { MNEME_EMBEDDER: ENGLISH } });
    const target = path("under-load");
    /** The note of each memory whose creation, change or deletion has been acknowledged; null: deleted. */
    const acknowledged = new Map<string, number | null>();
    const everSent = new Map<string, Set<number>>();
    let isStopped = false;
    let next = 0;
    const writer = async (seed: number) => {
      for (let step = seed; !isStopped; step++) {
        const numbers = [next++, next++, next++];
        const ids = await storeBatch(server, numbers);
        for (const [at, id] of ids.entries()) {
          everSent.set(id, new Set([numbers[at] ?? -1]));
          acknowledged.set(id, numbers[at] ?? -1);
        }
        const [changed = "", removed = ""] = ids;
        const n = next++;
        everSent.get(changed)?.add(n);
        expect((await server.call("PUT", `/v1/memories/${changed}`, { content: note(n) })).status).toBeLessThan(300);
        acknowledged.set(changed, n);
        if (step % 2 === 0) {
          expect((await server.call("DELETE", `/v1/memories/${removed}`)).status).toBe(204);
          acknowledged.set(removed, null);
        }
      }
    };
    const writers = [writer(0), writer(1)];
    const made: { readonly id: string; readonly before: Map<string, number | null> }[] = [];
    for (let round = 0; round < BACKUPS; round++) {
      await until("more is acknowledged", () => acknowledged.size >= (round + 1) * 40);
      const before = new Map(acknowledged);
      const index = round % 3 === 1 ? ["--with-index"] : []; // while it is written
      const said = await backup([target, "--data-dir", server.dataDir, ...index], start());
      made.push({ id: /Backup (\S+) is complete/.exec(said)?.[1] ?? "", before });
    }
    isStopped = true;
    await Promise.all(writers);

    expect(await restore([target, "--list"], start()).then((text) => text.split("\n").length)).toBe(BACKUPS + 1);
    for (const [round, { id, before }] of made.entries()) {
      const dataDir = path(`restored-${id}`);
      await restore([target, "--backup", id, "--data-dir", dataDir], start());
      const restored = await startService({ dataDir, config: { embedder: ENGLISH } });
      const ids = new Map<number, string>();
      for (const memory of await listAll(restored)) {
        const sent = [...(everSent.get(memory.id) ?? [])].find((n) => note(n) === memory.content);
        expect([memory.id, sent]).toEqual([memory.id, expect.any(Number)]); // its own text, old or new
        expect([memory.id, before.get(memory.id)]).not.toEqual([memory.id, null]); // not deleted before the backup
        ids.set(sent ?? -1, memory.id);
      }
      const present = new Set(ids.values());
      for (const [memoryId, n] of before) {
        // a memory may have been deleted, or changed again, while the backup was made
        if (n !== null && acknowledged.get(memoryId) !== null)
          expect([memoryId, present.has(memoryId)]).toEqual([memoryId, true]);
      }
      // the search of every one would compute the vectors of many thousand memories
      if (round < BACKUPS_SEARCHED) await expectWhole(restored, ids);
      await restored.stop();
      rmSync(dataDir, { recursive: true });
    }
  },
  60_000 + BACKUPS * 30_000,
);

/** The size in bytes that a text says. @param pattern matches the number and the unit */
function bytesIn(text: string, pattern: RegExp): number {
  const [, amount, unit = ""] = pattern.exec(text) ?? [];
  return Number(amount) * ({ B: 1, KB: 1e3, MB: 1e6 }[unit] ?? Number.NaN);
}

describe("a backup", () => {
  let service: TestService;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    service = await startService();
    stop = listenForCommands(service.dataDir, service.service.control);
    await storeBatch(
      service,
      Array.from({ length: 100 }, (_, n) => n),
    );
    await service.store({ content: "ü".repeat(6_000), metadata: { a: [1, null, "x", BIG] }, userId: "ada" });
    await service.call("POST", "/v1/chats", { userId: "ada" });
    for (let event = 0; event < 100; event++) {
      const data = { random: Buffer.from(crypto.getRandomValues(new Uint8Array(4_500))).toString("hex") };
      await service.call("POST", "/v1/users/ada/events", { type: "large", data });
    }
    const form = new FormData();
    form.set("file", new File([`%PDF-1.4\n${"damaged ".repeat(99)}`], "broken.pdf", { type: "application/pdf" }));
    const url = "http://mneme.test/v1/memories/upload";
    const headers = { authorization: "Bearer ctx_test_key_0123456789abcdef" };
    const upload = await service.send(new Request(url, { method: "POST", headers, body: form }));
    await service.settled(upload.body.id);
    await until("all are processed", async () => {
      const { body } = await service.call("GET", "/v1/memories?status=processing&limit=1");
      return body.data.length === 0;
    });
  });
  afterAll(async () => {
    await stop?.();
    await service?.stop();
  });

  test("restores everything, as an export shows; without a server too, and the second one stores only what is new", async () => {
    const first = await backup([path("plain"), "--data-dir", service.dataDir], start());
    expect(first).toContain("102 memories and 1 unread upload");
    await restore([path("plain"), "--data-dir", path("copy")], start());
    expect(await exportOf(path("copy"), "copy.jsonl")).toEqual(await exportOf(service.dataDir, "original.jsonl"));

    const packs = () => readdirSync(path("plain/packs")).length;
    const before = packs();
    const unchanged = await backup([path("plain"), "--data-dir", path("copy")], start());
    expect(unchanged).toContain("102 memories");
    await service.store({ content: "One more memory." });
    const second = await backup([path("plain"), "--data-dir", service.dataDir], start());
    const [all, added] = [bytesIn(second, /([\d.]+) (\w+) in/), bytesIn(second, /^([\d.]+) (\w+) were new/m)];
    expect(added).toBeLessThan(all / 2);
    expect(packs()).toBeGreaterThan(before);

    // what a backup leaves that was killed
    const left = [`packs/${"a".repeat(64)}`, `packs/${"b".repeat(64)}.partial`, "manifests/x.partial"];
    for (const name of left) writeFileSync(path(`plain/${name}`), "left");
    const kept = await backup([path("plain"), "--data-dir", service.dataDir, "--keep", "1"], start());
    expect(kept).toContain("Removed earlier backups");
    expect(left.filter((name) => existsSync(path(`plain/${name}`)))).toEqual([]);
    expect((await restore([path("plain"), "--list"], start())).split("\n").length).toBe(2);
    expect(await restore([path("plain"), "--check"], start())).toContain("complete and undamaged");
  });

  test("restores the embedding model that a project used, whichever is the default", async () => {
    const config = { embedder: "all-minilm-l6-v2" };
    const original = await startService({ dataDir: path("model-source"), config });
    const { body: stored } = await original.store({ content: note(7) });
    const embedderOf = async (one: TestService) => (await one.call("GET", "/v1/project/embedder")).body.model;
    await until("the model is known", async () => (await embedderOf(original)) === config.embedder);
    await original.stop();
    await backup([path("model"), "--data-dir", path("model-source")], start());
    await restore([path("model"), "--data-dir", path("model-copy")], start());
    const restored = await startService({ dataDir: path("model-copy"), config: { embedderUpgrade: "manual" } });
    try {
      expect((await restored.settled(stored.id)).body).toEqual(stored);
      expect(await embedderOf(restored)).toBe(config.embedder);
      const found = await restored.call("POST", "/v1/memories/search", { query: note(7), mode: "fast" });
      expect(found.body.results[0].memory_id).toBe(stored.id);
    } finally {
      await restored.stop();
    }
  });

  test("with the index restores memories that are found at once, and computes nothing again", async () => {
    await service.call("DELETE", `/v1/memories/${(await service.store({ content: "Deleted before." })).body.id}`);
    await backup([path("indexed"), "--data-dir", service.dataDir, "--with-index"], start());
    expect(readdirSync(join(service.dataDir, "snapshots"))).toEqual([]);
    const again = await backup([path("indexed"), "--data-dir", service.dataDir, "--with-index"], start());
    expect(bytesIn(again, /^([\d.]+) (\w+) were new/m)).toBeLessThan(300_000);
    await restore([path("indexed"), "--data-dir", path("indexed-copy")], start());
    const restored = await startService({ dataDir: path("indexed-copy"), waitsForModels: false });
    try {
      expect((await restored.call("GET", "/v1/memories?status=processing&limit=1")).body.data).toEqual([]);
      await restored.service.ready;
      for (const n of [1, 42, 99]) {
        const found = await restored.call("POST", "/v1/memories/search", { query: note(n), mode: "hybrid" });
        expect(found.body.results[0].content).toBe(note(n));
      }
    } finally {
      await restored.stop();
    }
  });

  test("encrypted with a passphrase or a key file shows no text, and opens only with the key", async () => {
    writeFileSync(path("key"), crypto.getRandomValues(new Uint8Array(32)));
    writeFileSync(path("other-key"), crypto.getRandomValues(new Uint8Array(32)));
    writeFileSync(path("short-key"), "short");
    const secret = { MNEME_BACKUP_PASSPHRASE: "correct horse" };
    await backup([path("secret"), "--data-dir", service.dataDir], start(secret));
    await backup([path("filed"), "--data-dir", service.dataDir, "--key-file", "key"], start());
    for (const name of ["secret", "filed"]) {
      for (const entry of readdirSync(path(name), { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) expect(readFileSync(join(entry.parentPath, entry.name)).includes("shelf")).toBeFalse();
      }
    }
    expect(await restore([path("secret"), "--check"], start(secret))).toContain("undamaged");
    expect(await restore([path("filed"), "--check", "--key-file", "key"], start())).toContain("undamaged");
    const wrong: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>, string])[] = [
      ["secret", [], { MNEME_BACKUP_PASSPHRASE: "incorrect horse" }, "The passphrase is not the one"],
      ["secret", [], {}, "set MNEME_BACKUP_PASSPHRASE"],
      ["filed", ["--key-file", "other-key"], {}, "The key file is not the one"],
      ["filed", [], secret, "use --key-file"],
      ["plain-2", ["--key-file", "short-key"], {}, "at least 32 random bytes"],
      ["filed", ["--key-file", "key"], secret, "cannot be used together"],
    ];
    for (const [name, flags, environment, message] of wrong) {
      const again = backup([path(name), "--data-dir", service.dataDir, ...flags], start(environment));
      expect(await failureOf(again)).toContain(message);
    }
  });

  test("refuses to run beside another one into the same target, so that --keep removes nothing of that", async () => {
    const target = path("shared");
    const other = await TargetLock.take(new FolderTarget(target), systemClock);
    const second = await failureOf(backup([target, "--data-dir", service.dataDir, "--keep", "1"], start()));
    expect(second).toContain(`Another backup is being made in ${target}, by process ${process.pid} on `);
    expect(readdirSync(target)).toEqual(["locks"]); // nothing was written or removed
    await other.release();
    expect(await backup([target, "--data-dir", service.dataDir, "--keep", "1"], start())).toContain("is complete");
    expect(readdirSync(join(target, "locks"))).toEqual([]);
  });

  test("holds its target while it writes there and while it removes earlier backups", async () => {
    const s3 = startS3Server();
    try {
      const isLocked: boolean[] = [];
      const { set, delete: remove } = s3.objects;
      const note = (name: string) => {
        if (name.startsWith("locks/")) return;
        isLocked.push([...s3.objects.keys()].some((each) => each.startsWith("locks/")));
      };
      s3.objects.set = (name, bytes) => {
        note(name);
        return set.call(s3.objects, name, bytes);
      };
      s3.objects.delete = (name) => {
        note(name);
        return remove.call(s3.objects, name);
      };
      for (let round = 0; round < 2; round++) {
        await backup([`s3://${s3.bucket}`, "--data-dir", service.dataDir, "--keep", "1"], start(s3.environment));
      }
      expect(isLocked.length).toBeGreaterThan(4); // description, packs, manifests, and a removal
      expect(new Set(isLocked)).toEqual(new Set([true]));
      expect([...s3.objects.keys()].filter((name) => name.startsWith("locks/"))).toEqual([]);
    } finally {
      await s3.stop();
    }
  });

  test("in S3 is listed, checked and restored; a wrong key and a missing one are named", async () => {
    const s3 = startS3Server();
    try {
      const address = `s3://${s3.bucket}/nightly`;
      for (let round = 0; round < 4; round++)
        await backup([address, "--data-dir", service.dataDir], start(s3.environment));
      expect((await restore([address, "--list"], start(s3.environment))).split("\n").length).toBe(5);
      await restore([address, "--data-dir", path("from-s3")], start(s3.environment));
      expect(await exportOf(path("from-s3"), "s3.jsonl")).toEqual(await exportOf(service.dataDir, "for-s3.jsonl"));
      await backup([address, "--data-dir", service.dataDir, "--keep", "2"], start(s3.environment));
      expect([...s3.objects.keys()].filter((name) => name.startsWith("nightly/manifests/"))).toHaveLength(2);

      const wrong = { ...s3.environment, AWS_SECRET_ACCESS_KEY: "wrong" };
      expect(await failureOf(restore([address, "--list"], start(wrong)))).toContain(
        "Could not read mneme-backups.json",
      );
      expect(await failureOf(restore([address, "--list"], start()))).toContain("Set AWS_ACCESS_KEY_ID");
      expect(await failureOf(restore(["s3://no", "--list"], start(s3.environment)))).toContain(
        "is not an address of S3",
      );
      const empty = restore([`s3://${s3.bucket}/nothing`, "--list"], start(s3.environment));
      expect(await failureOf(empty)).toContain("There are no backups");
    } finally {
      await s3.stop();
    }
  });

  test("that is damaged, cut or incomplete is refused with the object's name, and nothing is restored", async () => {
    const target = path("damaged");
    await backup([target, "--data-dir", service.dataDir], start());
    const [pack = ""] = readdirSync(join(target, "packs"));
    const [manifest = ""] = readdirSync(join(target, "manifests"));
    const cases: readonly (readonly [string, string, (bytes: Buffer) => Buffer | null])[] = [
      [`packs/${pack}`, "is damaged", (bytes) => flipped(bytes, bytes.length >> 1)],
      [`packs/${pack}`, "is damaged", (bytes) => bytes.subarray(0, -1)],
      [`packs/${pack}`, "is missing", () => null],
      [`manifests/${manifest}`, "is damaged", (bytes) => flipped(bytes, 3)],
      [`manifests/${manifest}`, "is damaged", (bytes) => flipped(bytes, bytes.length - 3)],
      [`manifests/${manifest}`, "is damaged", (bytes) => bytes.subarray(0, 10)],
      [`manifests/${manifest}`, "There are no complete backups", () => null],
    ];
    for (const [name, message, damage] of cases) {
      const file = join(target, name);
      const bytes = readFileSync(file);
      const damaged = damage(bytes);
      if (damaged === null) rmSync(file);
      else writeFileSync(file, damaged);
      const dataDir = path("never");
      const failure = await failureOf(restore([target, "--data-dir", dataDir], start()));
      expect(failure).toContain(message);
      if (!message.startsWith("There")) expect(failure).toContain(name);
      for (const store of ["mneme.sqlite", "memories.duckdb", "uploads"])
        expect(existsSync(join(dataDir, store))).toBeFalse();
      writeFileSync(file, bytes);
      rmSync(dataDir, { recursive: true, force: true });
    }
    expect(await restore([target, "--check"], start())).toContain("undamaged");
  });

  test("is not restored into a folder with data; a restore that was cut is begun again, and no server starts on it", async () => {
    const target = path("plain-3");
    await backup([target, "--data-dir", service.dataDir], start());
    mkdirSync(path("full"));
    writeFileSync(path("full/notes.txt"), "mine");
    expect(await failureOf(restore([target, "--data-dir", path("full")], start()))).toContain(
      "is not empty (it has notes.txt)",
    );
    expect(await failureOf(restore([target, "--data-dir", service.dataDir], start()))).toContain(
      "is not empty (it has", // a server runs on it, but another command would not help
    );

    const cut = path("cut");
    mkdirSync(join(cut, "restoring"), { recursive: true });
    writeFileSync(join(cut, "memories.duckdb"), "moved already");
    expect(await failureOf(startService({ dataDir: cut }))).toContain("has not ended: run mneme restore again");
    await restore([target, "--data-dir", cut], start());
    expect(existsSync(join(cut, "restoring"))).toBeFalse();
    expect(await exportOf(cut, "cut.jsonl")).toEqual(await exportOf(service.dataDir, "whole.jsonl"));
    const { text, exitCode } = await verifyCommand(["--data-dir", cut], start());
    expect(exitCode).toBe(1);
    expect(text).toContain("have no vector");
    expect(text).toContain("the start of a server builds what they lack");
  });

  test("with wrong flags is refused in one sentence", async () => {
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [[], "Missing target"],
      [["a", "b"], 'Unexpected argument "b"'],
      [["a", "--rate", "fast"], "--rate must be a number of bytes per second"],
      [["a", "--rate", "0"], "--rate must be a number of bytes per second"],
      [["a", "--keep", "0"], "--keep must be an integer"],
      [["http://x/y"], "is not an address of S3"],
      [["a", "--key-file", "nowhere"], "cannot be read"],
    ];
    for (const [argv, message] of wrong) expect(await failureOf(backup(argv, start()))).toContain(message);
    expect(await failureOf(restore([path("plain-9"), "--list"], start()))).toContain("There are no backups");
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 4;
  return copy;
}
