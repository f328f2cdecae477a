// `mneme export` and `mneme import` of an exported project: the round trip is identical, on a running server and on a
// data directory; a bad file is refused with the line that is wrong, and nothing of it is stored.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { exportProject, importProject } from "../../src/cli/project-copy.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import { representatives } from "../support/extent.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { storedRows } from "../support/stored-rows.ts";
import { until } from "../support/until.ts";

/** A whole number beyond the precision of a double. */
const BIG = parseJson("-12345678901234567890");

const folder = mkdtempSync(join(tmpdir(), "mneme-copy-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = { environment: {}, place: { workingDirectory: folder, shippedModelsDirectory: () => folder } };
const path = (name: string) => join(folder, name);
/** Exports with the command, and returns all lines but the header, which names the time of the export. */
const exported = async (dataDir: string, name: string, ...flags: string[]): Promise<readonly string[]> => {
  await exportProject([path(name), "--data-dir", dataDir, ...flags], start);
  const bytes = readFileSync(path(name));
  const [header = "", ...lines] = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString().split("\n");
  expect(JSON.parse(header)).toMatchObject({ type: "header", format: "mneme-export", version: 2 });
  return lines;
};
const settled = (service: TestService, key?: string) =>
  until("no memory is being processed", async () => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const { body } = await service.call("GET", "/v1/memories?status=processing&limit=1", undefined, headers);
    return body.data.length === 0;
  });

/** A project with something of everything. */
async function fill(service: TestService, site: URL): Promise<void> {
  const { call, store } = service;
  await call("PUT", "/v1/project", {
    name: "Notes of 東京",
    retention_days: 7,
    min_evidence: 0.25,
    default_mode: "fast",
  });
  await call("POST", "/v1/users", {
    id: "ada",
    name: "Ada",
    email: "ada@example.org",
    metadata: { since: 2019, ключ: ["é", null], number: BIG },
  });
  await call("POST", "/v1/users/ada/events", { type: "page_view", data: { page: "/a", n: 1.5, number: BIG } });
  const kept = await store({ content: "The spare key of the boathouse hangs behind the barometer.", userId: "ada" });
  await store({
    ...{
      content: `${"A long text. ".repeat(700)}\u{1f600} ends here.`,
      title: "Long",
      tags: ["x", "y"],
      type: "note",
      language: "en",
    },
    ...{
      metadata: { deep: { list: [1, "two", false, BIG] } },
      externalId: "ext-1",
      occurred_at: "2020-02-29T12:00:00Z",
    },
    ...{ agentId: "cook", sessionId: "s-1" },
  });
  const far = await store({ content: "Expires far in the future.", expires_at: "2090-01-01T00:00:00Z" });
  const gone = await store({ content: "This memory is deleted and must not be exported." });
  await call("DELETE", `/v1/memories/${gone.body.id}`);
  const upload = async (file: File) => {
    const form = new FormData();
    form.set("file", file);
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    const url = "http://mneme.test/v1/memories/upload";
    const { body } = await service.send(new Request(url, { method: "POST", headers, body: form }));
    await service.settled(body.id);
  };
  await upload(new File(["# Manual\n\nTurn the brass valve to the left."], "manual.md", { type: "text/markdown" }));
  // a file that cannot be read is kept, so that the memory can be tried again
  await upload(new File([`%PDF-1.4\n${"damaged ".repeat(200_000)}`], "broken.pdf", { type: "application/pdf" }));
  const chat = await call("POST", "/v1/chats", { userId: "ada" });
  await call("POST", "/v1/chats", { agentId: "cook", sessionId: "s-1" });
  const answer = await call("POST", `/v1/chats/${chat.body.id}/messages`, {
    message: "Where is the key of the boathouse?",
  });
  expect(answer.status).toBe(200);
  await call("POST", "/v1/users", { id: "bob" });
  const { body: bobs } = await store({ content: "Bob's first draft.", userId: "bob" });
  await call("PUT", `/v1/memories/${bobs.id}`, { content: "Bob's profile is erased, his memory stays." });
  await service.settled(bobs.id);
  await call("POST", "/v1/webhooks", {
    url: "https://1.1.1.1/hook",
    events: ["memory.completed"],
    description: "d",
  });
  await call("PUT", `/v1/memories/${kept.body.id}`, { title: "Key" });
  const page = await call("POST", "/v1/memories/url", { url: `${site}lamp.txt`, tags: ["sea"], sessionId: "s-2" });
  await service.settled(page.body.id);
  for (const type of ["duplicates", "refines"]) {
    const body = { memory_id: far.body.id, type };
    expect((await call("PUT", `/v1/memories/${page.body.id}/relations`, body)).status).toBe(200);
  }
  const [entity] = (await call("GET", "/v1/graph/entities?limit=1")).body.data;
  expect((await call("PUT", `/v1/graph/entities/${entity.id}`, { name: "A name of its own" })).status).toBe(200);
  const expected = { memory_ids: [kept.body.id] };
  await call("POST", "/v1/cases", { query: "Where is the key?", mode: "fast", expected });
  await call("POST", "/v1/cases", { query: "Where is the whale?", expected: { not_found: true } });
}

/** Rows that refer to a project which is not visible. */
const hidden = (dataDir: string) =>
  storedRows({ dataDir, database: null })
    .get("projects")
    ?.filter((row) => row.deleted_at !== null).length;

/** Records of an export with changes, as a file. */
function rewritten(name: string, records: readonly object[]): string {
  const [header = ""] = readFileSync(path("vectors.jsonl"), "utf8").split("\n");
  const lines = records.map((record) => `${JSON.stringify(record)}\n`);
  const sha256 = new Bun.CryptoHasher("sha256").update(lines.join("")).digest("hex");
  writeFileSync(
    path(name),
    `${header}\n${lines.join("")}${JSON.stringify({ type: "end", lines: lines.length, sha256 })}\n`,
  );
  return path(name);
}

describe("an exported project", () => {
  let source: TestService;
  let stop: () => Promise<void>;
  let lines: readonly string[];
  beforeAll(async () => {
    const site = Bun.serve({
      ...{ port: 0, hostname: "127.0.0.1" },
      fetch: () => new Response("The lamp is lit at dusk.", { headers: { "content-type": "text/plain" } }),
    });
    source = await startService({ config: { webhookAllow: AllowList.parse("127.0.0.1") } });
    stop = listenForCommands(source.dataDir, source.service.control);
    await fill(source, site.url);
    await site.stop(true);
    lines = await exported(source.dataDir, "served.jsonl");
  });
  afterAll(async () => {
    await stop?.();
    await source?.stop();
  });

  const records = () => lines.slice(0, -2).map((line) => parseJson(line) as ReturnType<typeof JSON.parse>);
  const of = (type: string) => records().filter((record) => record.type === type);

  test("has everything that the project owns, and nothing that is deleted or secret", () => {
    expect(of("project")).toMatchObject([
      { name: "Notes of 東京", settings: { retention_days: 7, default_mode: "fast" } },
    ]);
    expect(of("user").map(({ id }) => id)).toEqual(["ada", "bob"]);
    expect(of("user")[0]).toMatchObject({ name: "Ada", metadata: { since: 2019, ключ: ["é", null], number: BIG } });
    expect(of("event")).toMatchObject([
      { userId: "ada", event: "page_view", data: { page: "/a", n: 1.5, number: BIG } },
    ]);
    expect(of("memory").map(({ status }) => status)).toEqual([
      ...Array(4).fill("completed"),
      "failed",
      "completed",
      "completed",
    ]);
    expect(of("memory")[6]).toMatchObject({
      ...{ content: "The lamp is lit at dusk.", sessionId: "s-2", tags: ["sea"] },
      source: { filename: "lamp.txt", url: expect.stringMatching(/^http:.*\/lamp\.txt$/) },
    });
    expect(of("memory")[4]).toMatchObject({ has_file: true, content: "", error: { code: "unreadable_document" } });
    const parts = of("file").map(({ data }) => Buffer.from(data, "base64"));
    expect(parts.length).toBe(2);
    expect(Buffer.concat(parts).toString()).toBe(`%PDF-1.4\n${"damaged ".repeat(200_000)}`);
    expect(of("memory")[1]).toMatchObject({
      title: "Long",
      externalId: "ext-1",
      given: ["title", "type", "tags", "language"],
    });
    expect(of("memory")[3]).toMatchObject({
      source: { filename: "manual.md" },
      document: { marks: expect.arrayContaining([{ at: 0, place: { line: 1 } }]) },
      has_file: false,
    });
    expect(of("message").map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(of("message")[1].sources[0].memory_id).toBe(of("memory")[0].id);
    expect(of("webhook")).toMatchObject([{ url: "https://1.1.1.1/hook", events: ["memory.completed"] }]);
    expect(of("usage")).toHaveLength(1);
    expect(of("relation")).toMatchObject([{ kind: "refines", by: "person", state: "active", evidence: null }]);
    const digits = expect.stringMatching(/^[0-9a-f]{16}$/);
    expect(of("entity")).toMatchObject([{ entity: digits, name: "A name of its own", merged_into: null }]);
    expect(of("case")).toMatchObject([
      { query: "Where is the key?", mode: "fast", userId: null, memory_ids: [expect.stringMatching(/^mem_/)] },
      { query: "Where is the whale?", mode: null, memory_ids: null },
    ]);
    const by = expect.stringMatching(/^key_/);
    expect(of("earlier_text")).toMatchObject([{ content: "Bob's first draft.", version: 1, passages: 1, by }]);
    expect(of("earlier_relation")).toMatchObject([{ kind: "duplicates", by: "person", removed_by: by }]);
    const text = lines.join("\n");
    for (const secret of ["must not be exported", "whsec_", "api_key"]) expect(text).not.toContain(secret);
  });

  test("is the same after an import into a running server: at once, and when it is indexed again", async () => {
    const target = await startService();
    const stopTarget = listenForCommands(target.dataDir, target.service.control);
    try {
      const said = await importProject([path("served.jsonl"), "--data-dir", target.dataDir], start);
      const { id } = of("project")[0];
      expect(said).toContain(`Project ${id} is imported`);
      expect(await exported(target.dataDir, "at-once.jsonl", "--project", id)).toEqual(lines);

      const key = target.addKey(["*"], id);
      const headers = { authorization: `Bearer ${key}` };
      await settled(target, key);
      expect(await exported(target.dataDir, "again.jsonl.gz", "--project", "Notes of 東京")).toEqual(lines);
      const list = await target.call("GET", "/v1/memories", undefined, headers);
      expect(list.body.data).toEqual((await source.call("GET", "/v1/memories")).body.data);
      const found = await target.call("POST", "/v1/memories/search", { query: "brass valve" }, headers);
      expect(found.body.results[0].content).toContain("brass valve");
      const hooks = await target.call("GET", "/v1/webhooks", undefined, headers);
      const deliveries = await target.call(
        "GET",
        `/v1/webhooks/${hooks.body.data[0].id}/deliveries`,
        undefined,
        headers,
      );
      expect(deliveries.body.data).toEqual([]);
      const users = await target.call("GET", "/v1/users", undefined, headers);
      expect(users.body).toEqual((await source.call("GET", "/v1/users")).body);

      const twice = importProject([path("served.jsonl"), "--data-dir", target.dataDir], start);
      expect(twice).rejects.toThrow(`project ${id} exists already`);
      await twice.catch((error: unknown) => error);
      expect(await exported(target.dataDir, "unharmed.jsonl", "--project", id)).toEqual(lines);
    } finally {
      await stopTarget();
      await target.stop();
    }
  });

  test("is the same after an import into a data directory that no server uses", async () => {
    const dataDir = path("offline");
    const first = await startService({ dataDir, waitsForModels: false });
    await first.stop();
    const said = await importProject([path("served.jsonl"), "--data-dir", dataDir], start);
    expect(said).toContain("indexed when a server starts");
    const { id } = of("project")[0];
    expect(await exported(dataDir, "offline.jsonl", "--project", id)).toEqual(lines);
  });

  describe("with vectors", () => {
    let withVectors: readonly string[];
    beforeAll(async () => {
      withVectors = await exported(source.dataDir, "vectors.jsonl", "--vectors");
    });
    // biome-ignore lint/suspicious/noExplicitAny: records have many shapes
    const all = (): any[] => withVectors.slice(0, -2).map((line) => parseJson(line));
    const vectors = () => all().filter(({ type }) => type === "vectors");

    /** Imports a file into a new server, and exports the project with vectors when it is indexed. */
    async function afterImport(file: string): Promise<readonly string[]> {
      const target = await startService();
      const stopTarget = listenForCommands(target.dataDir, target.service.control);
      try {
        await importProject([file, "--data-dir", target.dataDir], start);
        const { id } = of("project")[0];
        await settled(target, target.addKey(["*"], id));
        expect(storedRows(target).get("imported_vectors")).toEqual([]);
        return await exported(target.dataDir, "back.jsonl", "--project", id, "--vectors", "--force");
      } finally {
        await stopTarget();
        await target.stop();
      }
    }

    test("has those of all completed memories, by the live model, after each memory", () => {
      const completed = of("memory").filter(({ status }) => status === "completed");
      expect([...new Set(vectors().map(({ memory_id }) => memory_id))]).toEqual(completed.map(({ id }) => id));
      const chunks = vectors().map(({ dimensions, data }) => Buffer.from(data, "base64").length / 4 / dimensions);
      expect(chunks.every((count) => Number.isInteger(count) && count > 0)).toBeTrue();
      expect(Math.max(...chunks)).toBeGreaterThan(3); // the long text
      expect(withVectors.filter((line) => !line.startsWith('{"type":"vectors"')).slice(0, -2)).toEqual(
        lines.slice(0, -2),
      );
      const before = all().findIndex(({ type }) => type === "vectors") - 1;
      expect(all()[before]).toMatchObject({ type: "memory", id: vectors()[0].memory_id });
    });

    test("is the same after an import", async () => {
      expect(await afterImport(path("vectors.jsonl"))).toEqual(withVectors);
    });

    test("gives vectors that the import does not compute again", async () => {
      // the vectors of two memories are exchanged: only whoever uses them as they are exports them like that
      const [one, other] = [vectors()[0], vectors().at(-1)];
      expect(one.data.length).toBe(other.data.length);
      const dataOf = new Map([
        [one.memory_id, other.data],
        [other.memory_id, one.data],
      ]);
      const records = all().map((record) =>
        record.type === "vectors" && dataOf.has(record.memory_id)
          ? { ...record, data: dataOf.get(record.memory_id) }
          : record,
      );
      const back = await afterImport(rewritten("exchanged.jsonl", records));
      expect(back.slice(0, -2).map((line) => parseJson(line))).toEqual(records);
    });

    // The first memory's title was changed later, which does not change its vector.
    const unchanged = (exported: readonly string[]) =>
      exported.slice(0, -2).filter((line) => !line.includes(`"memory_id":"${vectors()[0].memory_id}"}`));
    const others: readonly (readonly [string, (record: { readonly data: string }) => object])[] = [
      ["of another model", () => ({ model: "0".repeat(64) })],
      ["of other texts", () => ({ inputs_sha256: "0".repeat(64) })],
      ["that are incomplete", ({ data }) => ({ data: data.slice(0, 400) })],
      [
        "that are not numbers",
        ({ data }) => ({ data: Buffer.alloc(Buffer.from(data, "base64").length, 255).toString("base64") }),
      ],
      ["without length", ({ data }) => ({ data: Buffer.alloc(Buffer.from(data, "base64").length).toString("base64") })],
    ];
    for (const [what, change] of representatives(others, () => "any")) {
      test(`${what}: they are computed again`, async () => {
        const records = all().map((record) => (record.type === "vectors" ? { ...record, ...change(record) } : record));
        const back = await afterImport(rewritten("other.jsonl", records));
        expect(unchanged(back)).toEqual(unchanged(withVectors));
      });
    }

    for (const what of ["before their memory", "twice"]) {
      test(`${what} are refused, and nothing is stored`, async () => {
        const target = await startService({ waitsForModels: false });
        const stopTarget = listenForCommands(target.dataDir, target.service.control);
        try {
          const [project, ...others] = all();
          const [stray] = vectors();
          const early = [project, stray, ...others.filter((record) => record !== stray)];
          const records =
            what === "twice"
              ? all().flatMap((record) => (record.type === "vectors" ? [record, record] : [record]))
              : early;
          const file = rewritten("stray.jsonl", records);
          const failure = await importProject([file, "--data-dir", target.dataDir], start).catch(String);
          expect(failure).toContain(
            `vectors of memory ${stray.memory_id} do not follow its record, or are there twice`,
          );
          expect(hidden(target.dataDir)).toBe(1); // the next upkeep, or start, erases it
        } finally {
          await stopTarget();
          await target.stop();
        }
      });
    }

    test("is the same on a data directory that no server uses", async () => {
      const dataDir = path("offline-vectors");
      const first = await startService({ dataDir });
      const stopFirst = listenForCommands(dataDir, first.service.control);
      await importProject([path("vectors.jsonl"), "--data-dir", dataDir], start);
      const { id } = of("project")[0];
      await settled(first, first.addKey(["*"], id));
      await stopFirst();
      await first.stop();
      const models = {
        ...start,
        place: { ...start.place, shippedModelsDirectory: () => join(import.meta.dir, "../../data/models") },
      };
      await exportProject([path("offline-vectors.jsonl"), "--data-dir", dataDir, "--project", id, "--vectors"], models);
      const [, ...offline] = readFileSync(path("offline-vectors.jsonl"), "utf8").split("\n");
      expect(offline).toEqual([...withVectors]);
    });
  });

  const refusals: readonly (readonly [string, (text: string) => string, string])[] = [
    ["of another version", (text) => text.replace('"version":2', '"version":3'), "version 3 of the format"],
    ["without its end", (text) => text.slice(0, text.lastIndexOf('{"type":"end"')), "its last line is missing"],
    ["that is cut within a line", (text) => text.slice(0, Math.floor(text.length * 0.6)), "damaged or incomplete"],
    ["with a changed text", (text) => text.replace("barometer", "barometre"), "changed or damaged after its export"],
    ["with a line that is missing", (text) => text.replace(/\{"type":"event".*\n/, ""), "records, but should have"],
    [
      "with a wrong field",
      (text) => text.replace('"is_enabled":true', '"is_enabled":1'),
      "'is_enabled' of a record of type webhook must be true or false",
    ],
    [
      "with an unknown field",
      (text) => text.replace('"is_enabled":true', '"is_enabled":true,"x":1'),
      'has no field "x"',
    ],
    [
      "with an unknown record",
      (text) => text.replace('{"type":"event"', '{"type":"evnt"'),
      'there is no record type "evnt"',
    ],
  ];
  for (const [what, damage, message] of refusals) {
    test(`${what} is refused, and nothing is stored`, async () => {
      writeFileSync(path("bad.jsonl"), damage(readFileSync(path("served.jsonl"), "utf8")));
      const failure = await importProject([path("bad.jsonl"), "--data-dir", source.dataDir], start).catch(String);
      expect(failure).toContain(message);
      expect(hidden(source.dataDir)).toBe(0);
    });
  }

  test("with a memory that exists is refused as a whole, and what was stored of it is erased", async () => {
    const target = await startService({ waitsForModels: false });
    const stopTarget = listenForCommands(target.dataDir, target.service.control);
    try {
      await importProject([path("served.jsonl"), "--data-dir", target.dataDir], start);
      // the same memories under another project: everything before the first memory can be stored
      const other = "prj_00000000000000000000000001";
      const [header = "", ...rest] = readFileSync(path("served.jsonl"), "utf8").trimEnd().split("\n");
      const body = rest
        .slice(0, -1)
        .join("\n")
        .replaceAll(of("project")[0].id, other)
        .replace(of("event")[0].id, "evt_00000000000000000000000001");
      const sha256 = new Bun.CryptoHasher("sha256").update(`${body}\n`).digest("hex");
      const end = JSON.stringify({ type: "end", lines: rest.length - 1, sha256 });
      writeFileSync(path("conflict.jsonl"), `${header}\n${body}\n${end}\n`);
      const failure = await importProject([path("conflict.jsonl"), "--data-dir", target.dataDir], start).catch(String);
      expect(failure).toContain(`memory ${of("memory")[0].id} exists already`);
      expect((await target.call("GET", `/v1/projects/${other}`)).status).toBe(404);
      expect(hidden(target.dataDir)).toBe(1); // the next upkeep, or start, erases it
      await target.service.close();
      const again = await startService({ dataDir: target.dataDir, waitsForModels: false });
      await until("the leftovers are erased", () => hidden(target.dataDir) === 0);
      await again.stop();
    } finally {
      await stopTarget();
      rmSync(target.dataDir, { recursive: true, force: true });
    }
  });

  test("does not replace a file that exists, and leaves none if it fails", async () => {
    const again = exportProject([path("served.jsonl"), "--data-dir", source.dataDir], start);
    expect(String(await again.catch(String))).toContain("exists: choose another name");
    const unknown = exportProject([path("none.jsonl"), "--data-dir", source.dataDir, "--project", "nobody"], start);
    expect(String(await unknown.catch(String))).toContain('There is no project "nobody"');
    const nowhere = exportProject([path("none.jsonl"), "--data-dir", path("empty")], start);
    expect(String(await nowhere.catch(String))).toContain("holds no data of Mneme");
    const environment = { ...start.environment, MNEME_STORE: "postgres://u:p@127.0.0.1:1/n" };
    const elsewhere = exportProject([path("none.jsonl"), "--data-dir", path("empty")], { ...start, environment });
    expect(String(await elsewhere.catch(String))).toContain("The database u@127.0.0.1:1/n cannot be reached");
    for (const name of ["none.jsonl", "none.jsonl.partial"]) expect(existsSync(path(name))).toBeFalse();
  });
});
