// Commands on the embedded store and on PostgreSQL: export and import, backup and restore, forget, verify and reindex,
// with a running server and without one. The export of a project is the same file from both stores.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { backup, restore } from "../../src/cli/backup.ts";
import { forgetCommand } from "../../src/cli/forget.ts";
import { migrateCommand } from "../../src/cli/migrate.ts";
import { exportProject, importProject } from "../../src/cli/project-copy.ts";
import { reindexCommand } from "../../src/cli/reindex.ts";
import { verifyCommand } from "../../src/cli/verify.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import { giveUpImports, IMPORT_MS_MAX } from "../../src/stores/copies/import.ts";
import { openPostgresStores } from "../../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { RUNS_ALL } from "../support/extent.ts";
import { startService, type TestService } from "../support/service.ts";
import { changeRows, storedRows } from "../support/stored-rows.ts";
import { until } from "../support/until.ts";

/** A whole number beyond the precision of a double. */
const BIG = parseJson("-12345678901234567890");

const folder = mkdtempSync(join(tmpdir(), "mneme-both-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = (name: string) => join(folder, name);
const failureOf = async (work: Promise<unknown>) => String(await work.then(() => "no failure", String));

/** A store that a test fills: a data directory, or a database with the folder of a node. */
interface Place {
  readonly dataDir: string;
  readonly url: string | null;
}

const startOn = ({ url }: Place) => ({
  environment: url === null ? {} : { MNEME_STORE: url },
  place: { workingDirectory: folder, shippedModelsDirectory: () => join(import.meta.dir, "../../data/models") },
});
const flagsOf = ({ dataDir }: Place) => ["--data-dir", dataDir];

async function exported(place: Place, name: string, ...flags: string[]): Promise<readonly string[]> {
  await exportProject([path(name), ...flagsOf(place), ...flags], startOn(place));
  return readFileSync(path(name), "utf8").split("\n").slice(1);
}

/** A server on a place that commands can reach. */
async function serve(place: Place): Promise<{ readonly service: TestService; readonly stop: () => Promise<void> }> {
  const service = await startService({ dataDir: place.dataDir, config: { store: place.url } });
  const stopListening = listenForCommands(place.dataDir, service.service.control);
  const stop = async () => {
    await stopListening();
    await service.service.close();
  };
  return { service, stop };
}

async function settled({ call }: TestService): Promise<void> {
  await until("no memory is being processed", async () => {
    const { body } = await call("GET", "/v1/memories?status=processing&limit=1");
    return body.data.length === 0;
  });
}

/** Its file has two pieces in a database, and its text is short. */
const MANUAL = `<p>Turn the brass valve to the left.</p><!--${"All is well. ".repeat(100_000)}-->`;
/** An archive with two files. */
const BOX = zipSync(
  { "a.txt": strToU8("The anchor is red."), "b.txt": strToU8("The buoy is green.") },
  { mtime: new Date("2026-01-02T03:04:05") },
);
const headers = { authorization: "Bearer ctx_test_key_0123456789abcdef" };

/** Uploads a file, waits until it is read, and returns the id of its memory. */
async function upload(service: TestService, name: string, content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const form = new FormData();
  form.set("file", new File([content], name));
  const url = "http://mneme.test/v1/memories/upload";
  const sent = await service.send(new Request(url, { method: "POST", headers, body: form }));
  await service.settled(sent.body.id);
  return sent.body.id;
}

/** The kept files of a project, by memory. */
async function keptFiles(service: TestService, key = headers): Promise<ReadonlyMap<string, string>> {
  const { body } = await service.call("GET", "/v1/memories?limit=100", undefined, key);
  const kept = body.data.filter(({ source }: { source: { is_kept: boolean } | null }) => source?.is_kept === true);
  const files = new Map<string, string>();
  for (const { id } of kept) {
    const request = new Request(`http://mneme.test/v1/memories/${id}/file`, { headers: key });
    files.set(id, await (await service.service.handle(request)).text());
  }
  return files;
}

/** The column `container` of the memories of a database that have one: lists of parts use its index. */
const containersIn = ({ dataDir, url }: Place) =>
  (storedRows({ dataDir, database: url }).get("memories") ?? []).flatMap(({ container }) => container ?? []);

/** Paths and completion of the files in the archive, by its memory. */
async function partsOfBox(service: TestService, key = headers) {
  const { body } = await service.call("GET", "/v1/memories?limit=100", undefined, key);
  const { id, parts } = body.data.find(
    ({ source }: { source?: { filename?: string } }) => source?.filename === "box.zip",
  );
  const { body: listed } = await service.call("GET", `/v1/memories?container=${id}`, undefined, key);
  const paths = listed.data.map(({ source, content }: { source: { path: string }; content: string }) => [
    source.path,
    content,
  ]);
  return { id, parts, paths };
}

async function fill(service: TestService): Promise<void> {
  const { call, store } = service;
  await call("PUT", "/v1/project", { name: "Notes of 東京", retention_days: 7, default_mode: "fast" });
  await call("POST", "/v1/users", {
    id: "ada",
    name: "Ada",
    metadata: { since: 2019, ключ: ["é", null], number: BIG },
  });
  await call("POST", "/v1/users/ada/events", { type: "page_view", data: { n: 1.5 } });
  const source = { content: "The spare key of the boathouse hangs behind the barometer.", userId: "ada" };
  await store({ ...source, metadata: { secret: "barometer", number: BIG } });
  await store({ content: `${"A long text. ".repeat(700)}\u{1f600}`, title: "Long", tags: ["x", "y"], externalId: "e" });
  await store({ content: "Agents keep notes.", agentId: "agent-1", sessionId: "s-1" });
  const { body: chat } = await call("POST", "/v1/chats", { userId: "ada", title: "keys" });
  await call("POST", `/v1/chats/${chat.id}/messages`, { message: "Where is the spare key?" });
  await call("POST", "/v1/webhooks", { url: "https://example.com/hook", events: ["memory.completed"] });
  await upload(service, "broken.pdf", `%PDF-1.4\n${"damaged ".repeat(99)}`);
  await call("PUT", "/v1/project", { keep_files: true });
  await upload(service, "manual.html", MANUAL);
  await upload(service, "box.zip", BOX);
  await settled(service);
}

/** Adds a model with curves that were fitted for it, and a calibration that is asked for. */
async function addCalibratedModel({ url, dataDir }: Place): Promise<void> {
  const tunings = JSON.stringify({ "-": { calibration: "fitted", typicalCosine: 0.1 + 0.2 } });
  const job = JSON.stringify({ number: 3, projectId: null, state: "failed", done: 0, total: null, error: "é" });
  await changeRows(
    { dataDir, database: url },
    `INSERT INTO installed_models (id, task, kind, source, languages, is_calibrated, status, tunings, calibration_job,
      calibration_number, created_at)
    VALUES ('far', 'embed', 'installed', '/models/far', '["en"]', 0, 'failed', '${tunings}', '${job}', 3, 7)`,
  );
}

const modelsOf = ({ url, dataDir }: Place) =>
  (storedRows({ dataDir, database: url }).get("installed_models") ?? []).map(
    ({ model_key: _, ...row }) => row, // the databases number rows in their own ways
  );

const search = async ({ call }: TestService, query: string) =>
  (await call("POST", "/v1/memories/search", { query, mode: "hybrid", limit: 5 })).body.results.map(
    ({ memory_id, score }: { memory_id: string; score: number }) => [memory_id, score],
  );

withPostgres("commands on copies", () => {
  const databases: EmptyDatabase[] = [];
  const newPlace = async (kind: "embedded" | "postgres", name: string): Promise<Place> => {
    mkdirSync(path(name), { recursive: true });
    if (kind === "embedded") return { dataDir: path(name), url: null };
    const database = await emptyDatabase();
    databases.push(database);
    return { dataDir: path(name), url: database.url };
  };
  afterAll(async () => {
    for (const database of databases) await database.giveBack();
  });

  test("an export is the same file after a move to PostgreSQL, and models keep their curves", async () => {
    const [from, to] = [await newPlace("embedded", "moved-from"), await newPlace("postgres", "moved-to")];
    const { service, stop } = await serve(from);
    await fill(service);
    await addCalibratedModel(from);
    const models = modelsOf(from);
    const before = await exported(from, "moved-from.jsonl");
    await stop();
    await migrateCommand(["--from", from.dataDir, "--to", to.url ?? ""], startOn(from));
    expect(await exported(to, "moved-to.jsonl")).toEqual(before);
    expect(containersIn(to)).toHaveLength(2);
    expect(models.map(({ id }) => id)).toEqual(["far"]);
    expect(modelsOf(to)).toEqual(models);
  });

  test("what a killed import left in a database is erased after an hour, and not before", async () => {
    const place = await newPlace("postgres", "imports");
    const { service, stop } = await serve(place);
    const now = systemClock.now();
    const insert = (id: string, deletedAt: number) =>
      `INSERT INTO projects (id, name, plan, settings, retention_days, secret, created_at, deleted_at)
       VALUES ('${id}', 'n', 'free', '{}', 30, '\\x00', 0, ${deletedAt})`;
    const minute = 60_000;
    await changeRows(
      { ...place, database: place.url },
      insert("prj_old", -(now - 61 * minute)),
      insert("prj_new", -(now - 59 * minute)),
    );
    const stores = await openPostgresStores({
      ...{ url: place.url ?? "", clock: systemClock, newWebhookSecret, onEffectFailure: () => undefined },
    });
    await giveUpImports({ write: stores.inTransaction, clock: systemClock }, IMPORT_MS_MAX);
    expect(await stores.accounts.removedProjects()).toEqual(["prj_old" as ProjectId]);
    expect((await service.call("GET", "/v1/projects")).body.data?.length ?? 1).toBe(1);
    await stores.close();
    await stop();
  });

  // the other tests of this folder use the embedded store
  describe.each(RUNS_ALL ? (["embedded", "postgres"] as const) : (["postgres"] as const))("on the %s store", (kind) => {
    let place: Place;
    let server: Awaited<ReturnType<typeof serve>>;
    beforeAll(async () => {
      place = await newPlace(kind, `source-${kind}`);
      server = await serve(place);
      await fill(server.service);
      await addCalibratedModel(place);
    });
    afterAll(() => server.stop());

    test("an exported project is imported with the same content and vectors, and found again", async () => {
      const lines = await exported(place, `${kind}.jsonl`, "--vectors");
      expect(lines.some((line) => line.startsWith('{"type":"vectors"'))).toBe(true);
      expect(lines.filter((line) => line.includes('"kept_file":true')).length).toBe(2);
      expect([...(await keptFiles(server.service)).values()]).toEqual([Buffer.from(BOX).toString(), MANUAL]);
      expect(await partsOfBox(server.service)).toMatchObject({
        parts: { total: 2, completed: 2, failed: 0 },
        paths: [
          ["b.txt", "The buoy is green."],
          ["a.txt", "The anchor is red."],
        ],
      });
      const target = await newPlace(kind, `imported-${kind}`);
      const other = await serve(target);
      const said = await importProject([path(`${kind}.jsonl`), ...flagsOf(target)], startOn(target));
      const [, id = ""] = /Project (\S+) is imported/.exec(said) ?? [];
      await until("all are indexed", () => {
        const rows = storedRows({ ...target, database: target.url }).get("memories") ?? [];
        return rows.length === 8 && rows.every(({ status }) => status !== "processing");
      });
      expect(await exported(target, `${kind}-again.jsonl`, "--project", id, "--vectors")).toEqual(lines);
      const key = { authorization: `Bearer ${other.service.addKey(["*"], id)}` };
      if (kind === "embedded") expect(await keptFiles(other.service, key)).toEqual(await keptFiles(server.service));
      if (kind === "embedded") expect(await partsOfBox(other.service, key)).toEqual(await partsOfBox(server.service));
      else expect(containersIn(target)).toHaveLength(2);
      expect((await verifyCommand(flagsOf(target), startOn(target))).exitCode).toBe(0);
      const again = importProject([path(`${kind}.jsonl`), ...flagsOf(target)], startOn(target));
      expect(await failureOf(again)).toContain("exists already");
      expect((storedRows({ ...target, database: target.url }).get("projects") ?? []).length).toBe(2);
      await other.stop();
    });

    test("a backup is restored to the same content, and the same models with their curves", async () => {
      const said = await backup([path(`backup-${kind}`), ...flagsOf(place)], startOn(place));
      expect(said).toContain("8 memories and 1 unread upload");
      const restored = { dataDir: path(`restored-${kind}`), url: null };
      await restore([path(`backup-${kind}`), ...flagsOf(restored)], startOn(restored));
      expect(await exported(restored, `${kind}-restored.jsonl`)).toEqual(await exported(place, `${kind}-now.jsonl`));
      expect(modelsOf(restored)).toEqual(modelsOf(place));
      const opened = await serve(restored);
      expect(await keptFiles(opened.service)).toEqual(await keptFiles(server.service));
      await settled(opened.service); // its index is built
      expect(await partsOfBox(opened.service)).toEqual(await partsOfBox(server.service));
      await opened.stop();
      const withIndex = backup([path(`backup-${kind}`), ...flagsOf(place), "--with-index"], startOn(place));
      expect(await failureOf(withIndex)).toContain(kind === "postgres" ? "leave --with-index out" : "no failure");
    });

    test("reindex gives the same answers on every node, while searches go on", async () => {
      const before = await search(server.service, "the key of the boathouse");
      expect(before.length).toBeGreaterThan(1);
      const { body: listed } = await server.service.call("GET", "/v1/memories?limit=100");
      const known = new Set(listed.data.map(({ id }: { id: string }) => id));
      const other = kind === "postgres" ? await serve({ ...place, dataDir: path("other-node") }) : null;
      if (other !== null) expect(await search(other.service, "the key of the boathouse")).toEqual(before);
      const firsts = () =>
        (storedRows({ ...place, database: place.url }).get("publication_parts") ?? []).map(
          (row) => row.first_chunk_key,
        );
      const firstsBefore = firsts();
      let isDone = false;
      const searches = (async () => {
        // a search that is in progress may miss memories that are just being replaced, and show others instead
        while (!isDone)
          for (const [id] of await search(server.service, "the key of the boathouse")) expect(known).toContain(id);
      })();
      const said = await reindexCommand(flagsOf(place), startOn(place));
      isDone = true;
      await searches;
      expect(said).toContain("7 of 7 memories rebuilt");
      expect(await search(server.service, "the key of the boathouse")).toEqual(before);
      if (other === null) return;
      expect(await search(other.service, "the key of the boathouse")).toEqual(before);
      expect(firsts().length).toBe(firstsBefore.length);
      expect(firsts().filter((first) => firstsBefore.includes(first))).toEqual([]);
      const idsOf = async ({ service }: typeof server) => {
        const { body } = await service.call("POST", "/v1/memories/search", { query: "the key of the boathouse" });
        return body.results.map(({ id }: { id: string }) => id);
      };
      expect(await idsOf(other)).toEqual(await idsOf(server));
      expect((await verifyCommand(["--data-dir", path("other-node")], startOn(place))).exitCode).toBe(0);
      await other.stop();
    });

    test("verify finds nothing in sound stores, and repairs a lost text", async () => {
      const sound = await verifyCommand(flagsOf(place), startOn(place));
      expect(sound).toMatchObject({ exitCode: 0, text: expect.stringContaining("they fit together") });
      const added = await server.service.store({ content: "A text that is lost later." });
      if (kind === "embedded") return; // test/cli/verify.test.ts damages these stores
      await changeRows(
        { ...place, database: place.url },
        "UPDATE texts SET content = 'other' WHERE content LIKE 'A text that is lost%'",
      );
      const damaged = await verifyCommand(flagsOf(place), startOn(place));
      expect([damaged.exitCode, damaged.text]).toEqual([1, expect.stringContaining("another size or hash")]);
      const repaired = await verifyCommand([...flagsOf(place), "--repair"], startOn(place));
      expect([repaired.exitCode, repaired.text]).toEqual([
        0,
        expect.stringContaining("1 memories are marked as failed"),
      ]);
      const { body } = await server.service.call("GET", `/v1/memories/${added.body.id}`);
      expect([body.status, body.error.message]).toEqual(["failed", expect.stringContaining("Send it again")]);
      const aside = readdirSync(join(place.dataDir, "quarantine"), { recursive: true });
      expect(aside.some((name) => String(name).endsWith("lost-texts.jsonl"))).toBe(true);
    });

    test("verify names a kept file that is damaged or missing, and a repair makes its memory say so", async () => {
      const added = [await upload(server.service, "a.txt", "One kept."), await upload(server.service, "b.txt", "Two.")];
      const names = (storedRows({ ...place, database: place.url }).get("memories") ?? []).flatMap((row) =>
        added.includes(String(row.id)) ? [String(row.original_file)] : [],
      );
      expect(names).toHaveLength(2);
      const [first = "", second = ""] = names;
      if (kind === "embedded") {
        writeFileSync(join(place.dataDir, "uploads", first), "One kepT.");
        rmSync(join(place.dataDir, "uploads", second));
      } else {
        const rows = { ...place, database: place.url };
        await changeRows(rows, `UPDATE kept_files SET bytes = 'One kepT.' WHERE name = '${first}'`);
        await changeRows(rows, `DELETE FROM kept_files WHERE name = '${second}'`);
      }
      const damaged = await verifyCommand(flagsOf(place), startOn(place));
      expect(damaged.exitCode).toBe(1);
      for (const what of ["kept files of memories are missing", "have another content than was uploaded", ...added]) {
        expect(damaged.text).toContain(what);
      }
      expect(await failureOf(exported(place, `${kind}-damaged.jsonl`))).toContain("verify");
      const repaired = await verifyCommand([...flagsOf(place), "--repair"], startOn(place));
      expect([repaired.exitCode, repaired.text]).toEqual([0, expect.stringContaining("the originals of 1 memories")]);
      for (const id of added) {
        const { body } = await server.service.call("GET", `/v1/memories/${id}`);
        expect(body).toMatchObject({ status: "completed", source: { is_kept: false } });
        await server.service.call("DELETE", `/v1/memories/${id}?purge=true`);
      }
    });

    test("verify finds relations that fit no memories, and repairs what follows from them", async () => {
      const { store, call } = server.service;
      const older = (await store({ content: "The lantern is in the attic." })).body.id;
      const newer = (await store({ content: "The lantern is in the cellar." })).body.id;
      const body = { memory_id: older, type: "supersedes" };
      expect((await call("PUT", `/v1/memories/${newer}/relations`, body)).status).toBe(200);
      if (kind === "postgres") {
        const rows = { ...place, database: place.url };
        await call("PUT", `/v1/memories/${newer}`, { content: "The lantern is in the garden." });
        await server.service.settled(newer);
        await changeRows(rows, "UPDATE earlier_texts SET content = NULL");
        await changeRows(rows, `UPDATE memories SET superseded_by = NULL WHERE id = '${older}'`);
        await changeRows(rows, `UPDATE memories SET agent_id = 'smith' WHERE id = '${newer}'`);
        const damaged = await verifyCommand(flagsOf(place), startOn(place));
        expect(damaged.exitCode).toBe(1);
        expect(damaged.text).toContain("another user or agent");
        expect(damaged.text).toContain("what supersedes them");
        expect(damaged.text).toContain("earlier texts of memories are lost");
        const repaired = await verifyCommand([...flagsOf(place), "--repair"], startOn(place));
        expect([repaired.exitCode, repaired.text]).toEqual([0, expect.stringContaining("computed again")]);
        expect((await call("GET", `/v1/memories/${older}`)).body).toMatchObject({ superseded_by: null, relations: [] });
      }
      expect((await verifyCommand(flagsOf(place), startOn(place))).exitCode).toBe(0);
      for (const id of [older, newer]) await call("DELETE", `/v1/memories/${id}?purge=true`);
    });

    test("forget erases a memory and a user, and its receipt says what", async () => {
      const added = await server.service.store({ content: "Erase this sentence about zeppelins.", userId: "bob" });
      const { call, settled } = server.service;
      await call("PUT", `/v1/memories/${added.body.id}`, { content: "Erase this one about balloons." });
      await settled(added.body.id);
      const receipt = JSON.parse(await forgetCommand(["memory", added.body.id, ...flagsOf(place)], startOn(place)));
      const store = kind === "postgres" ? "postgres" : "mneme.sqlite";
      expect(receipt.erased[store]).toMatchObject({ memories: 1, earlier_texts: 1 });
      expect(receipt.erased.projects.chunks).toBe(1);
      const file = await upload(server.service, "zeppelin.txt", "Zeppelins are kept here.");
      const ofFile = JSON.parse(await forgetCommand(["memory", file, ...flagsOf(place)], startOn(place)));
      expect(ofFile.erased.uploads).toEqual({ files: 0, kept_files: 1 });
      const { id: box } = await partsOfBox(server.service);
      const ofBox = JSON.parse(await forgetCommand(["memory", box, ...flagsOf(place)], startOn(place)));
      expect(ofBox.erased[store].memories).toBe(3);
      expect(ofBox.erased.uploads).toEqual({ files: 0, kept_files: 1 });
      // parts that were deleted with their container do not wait for the end of the retention
      const second = await upload(server.service, "box.zip", BOX);
      await until("the files in it are read", async () => (await partsOfBox(server.service)).parts.completed === 2);
      expect((await call("DELETE", `/v1/memories/${second}`)).status).toBe(204);
      const ofDeleted = JSON.parse(await forgetCommand(["memory", second, ...flagsOf(place)], startOn(place)));
      expect(ofDeleted.erased[store].memories).toBe(3);
      const ofUser = JSON.parse(await forgetCommand(["user", "ada", ...flagsOf(place)], startOn(place)));
      expect(ofUser.erased[store]).toMatchObject({ memories: 1, users: 1, chats: 1, messages: 2, user_events: 1 });
      const rows = JSON.stringify([...storedRows({ ...place, database: place.url })], (_, value) =>
        typeof value === "bigint" ? String(value) : value,
      );
      for (const erased of ["zeppelins", "balloons", "zeppelin.txt", "barometer", '"ada"', "buoy", "a.txt", "box.zip"])
        expect([erased, rows.includes(erased)]).toEqual([erased, false]);
      expect((await search(server.service, "barometer boathouse zeppelins")).length).toBeGreaterThan(0);
      expect(await failureOf(forgetCommand(["user", "ada", ...flagsOf(place)], startOn(place)))).toContain("no user");
    });

    test("verify and export work without a server, and forget says that it needs one", async () => {
      await server.stop();
      const lines = await exported(place, `${kind}-stopped.jsonl`);
      expect(lines.length).toBeGreaterThan(4);
      const vectors = exported(place, `${kind}-vectors.jsonl`, "--vectors");
      if (kind === "embedded") expect((await vectors).length).toBeGreaterThan(lines.length);
      else expect(await failureOf(vectors)).toContain("Start the server first");
      expect((await verifyCommand(flagsOf(place), startOn(place))).exitCode).toBe(0);
      expect(await failureOf(forgetCommand(["user", "bob", ...flagsOf(place)], startOn(place)))).toContain(
        "Start the server",
      );
      expect(existsSync(join(place.dataDir, "verifying"))).toBe(false);
      server = await serve(place);
    });
  });
});
