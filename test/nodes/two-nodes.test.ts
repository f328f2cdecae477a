// Two nodes on one PostgreSQL database, each with a folder of its own: what one answers, the other sees.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { SQL } from "bun";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import type { Config } from "../../src/config.ts";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { fileForm, formRequest } from "../support/forms.ts";
import { startLlm } from "../support/llm.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { ENGLISH, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { receiveWebhooks } from "../support/webhook-receiver.ts";

withPostgres("two nodes", () => {
  let database: EmptyDatabase;
  let beside: SQL;
  let folders: readonly ReturnType<typeof temporaryFolder>[];
  let nodes: TestService[];

  const start = (at: number, config: Partial<Config> = {}) =>
    startService({ dataDir: folders[at]?.path ?? "", config: { store: database.url, ...config } });
  const startBoth = async (config: Partial<Config>) => {
    await Promise.all(nodes.map((each) => each.stop()));
    nodes = [await start(0, config), await start(1, config)];
  };
  beforeEach(async () => {
    database = await emptyDatabase();
    beside = new SQL({ url: database.url, max: 1 });
    folders = [temporaryFolder(), temporaryFolder()];
    nodes = await Promise.all([start(0), start(1)]);
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await beside.close();
    await database.giveBack();
    for (const folder of folders) folder.remove();
  });

  const node = (at: number): TestService => {
    const found = nodes[at];
    if (found === undefined) throw new Error(`there is no node ${at}`);
    return found;
  };
  const found = async (at: number, query: string, more = {}): Promise<readonly string[]> => {
    const { status, body } = await node(at).call("POST", "/v1/memories/search", { query, ...more });
    expect(status).toBe(200);
    return body.results.map(({ content }: { readonly content: string }) => content);
  };

  test("a kept file that one node received is read in parts from the other, and is gone after a purge there", async () => {
    await node(0).call("PUT", "/v1/project", { keep_files: true });
    // two pieces in the database, and little text
    const content = `<p>Digits.</p><!--${"0123456789".repeat(200_000)}-->456`;
    const sent = await node(0).send(
      formRequest("http://mneme.test/v1/memories/upload", fileForm("digits.html", content), {
        headers: { authorization: `Bearer ${TEST_KEY}` },
      }),
    );
    const { id } = sent.body;
    expect((await node(0).settled(id)).body.source.is_kept).toBe(true);
    const part = async (at: number, range: string) => {
      const headers = { authorization: `Bearer ${TEST_KEY}`, range };
      const request = new Request(`http://mneme.test/v1/memories/${id}/file`, { headers });
      const response = await node(at).service.handle(request);
      return [response.status, (await response.text()).slice(0, 20)];
    };
    for (const at of [0, 1]) {
      expect(await part(at, "bytes=1048574-1048579")).toEqual([206, content.slice(1_048_574, 1_048_580)]);
      expect(await part(at, "bytes=-3")).toEqual([206, "456"]);
    }
    expect((await beside`SELECT count(*)::int AS n FROM kept_files`)[0].n).toBeGreaterThan(1);
    expect((await node(1).call("DELETE", `/v1/memories/${id}?purge=true`)).status).toBe(204);
    expect((await beside`SELECT count(*)::int AS n FROM kept_files`)[0].n).toBe(0);
    for (const at of [0, 1]) expect((await part(at, "bytes=0-1"))[0]).toBe(404);
  });

  test("a memory that one node completed is found by the other at once, changed by either, and gone after its deletion", async () => {
    const text = "The ferry to Lund leaves at nine from pier two.";
    const { body: memory } = await node(0).store({ content: text, metadata: { day: "monday" } });
    expect(memory.status).toBe("completed");
    expect(await found(1, "ferry to Lund")).toEqual([text]);
    expect(await found(0, "ferry to Lund")).toEqual([text]);

    const filters = { "metadata.day": "tuesday" };
    expect(await found(0, "ferry", { filters })).toEqual([]);
    const changed = await node(1).call("PUT", `/v1/memories/${memory.id}`, { metadata: { day: "tuesday" } });
    expect(changed.status).toBe(200);
    expect(await found(0, "ferry", { filters })).toEqual([text]);

    const other = "The ferry to Lund leaves at ten from pier six.";
    await node(0).call("PUT", `/v1/memories/${memory.id}`, { content: other });
    await node(1).settled(memory.id);
    expect(await found(1, "ferry to Lund")).toEqual([other]);
    expect(await found(0, "ferry to Lund")).toEqual([other]);

    expect((await node(1).call("DELETE", `/v1/memories/${memory.id}`)).status).toBe(204);
    expect(await found(0, "ferry to Lund")).toEqual([]);
    expect(await found(1, "ferry to Lund")).toEqual([]);
  });

  test("40 changes in turn on both nodes are each seen by the next search of the other", async () => {
    for (let at = 0; at < 20; at++) {
      const [writer, reader] = [at % 2, (at + 1) % 2];
      const text = `Note ${at}: the key of cupboard x${at * 7919} is blue.`;
      const { body } = await node(writer).store({ content: text });
      expect(await found(reader, `cupboard x${at * 7919}`, { limit: 1 })).toEqual([text]);
      if (at % 2 === 0) continue;
      await node(reader).call("DELETE", `/v1/memories/${body.id}?purge=true`);
      expect(await found(writer, `cupboard x${at * 7919}`)).not.toContain(text);
    }
  });

  test("a node with an empty folder loads the index and computes nothing", async () => {
    const texts = Array.from({ length: 30 }, (_, at) => `Fact ${at}: lamp number ${at * 131} hangs in hall ${at}.`);
    const ids: string[] = [];
    for (const content of texts) ids.push((await node(0).call("POST", "/v1/memories", { content })).body.id);
    for (const id of ids) await node(1).settled(id);
    const query = "lamp number 1310";
    const modes = ["fast", "hybrid", "balanced", "precise"];
    const answersOf = (at: number) => Promise.all(modes.map((mode) => found(at, query, { mode, limit: 20 })));
    const expected = await answersOf(0);
    expect(expected[0]?.length).toBe(20);

    await node(1).stop();
    rmSync(folders[1]?.path ?? "", { recursive: true });
    const [versions] = await beside.unsafe(
      "SELECT sum(version)::int AS versions, sum(attempts)::int AS n FROM memories",
    );
    nodes[1] = await start(1);
    expect(await answersOf(1)).toEqual(expected);
    const after = await beside.unsafe("SELECT sum(version)::int AS versions, sum(attempts)::int AS n FROM memories");
    expect(after[0]).toEqual(versions); // no memory was processed again
    expect(await answersOf(0)).toEqual(expected);
  });

  test("a memory whose publication is stored but not completed when a node opens the project is loaded later", async () => {
    const text = "The ladder leans on the chimney.";
    const { body } = await node(0).store({ content: text });
    await node(1).stop();
    rmSync(folders[1]?.path ?? "", { recursive: true });
    const far = "claimable_at = 9000000000000";
    await beside.unsafe(`UPDATE memories SET status = 'processing', ${far} WHERE id = $1`, [body.id]);
    nodes[1] = await start(1);
    expect(await found(1, "ladder chimney")).toEqual([]);
    await beside.unsafe("UPDATE memories SET status = 'completed' WHERE id = $1", [body.id]);
    expect(await found(1, "ladder chimney")).toEqual([text]);
    expect(await found(0, "ladder chimney")).toEqual([text]);
  });

  test("a node that has missed changes follows them when it starts again", async () => {
    const { body: kept } = await node(0).store({ content: "The spare tyre is in the shed." });
    const { body: gone } = await node(0).store({ content: "The spare bulb is in the shed." });
    expect((await found(1, "spare shed")).length).toBe(2);
    await node(1).stop();
    await node(0).call("DELETE", `/v1/memories/${gone.id}`);
    await node(0).call("PUT", `/v1/memories/${kept.id}`, { content: "The spare tyre is in the garage." });
    await node(0).settled(kept.id);
    const { body: later } = await node(0).store({ content: "The spare key is in the shed.", metadata: { row: 1 } });
    await node(0).call("PUT", `/v1/memories/${later.id}`, { metadata: { row: 2 }, tags: ["key"] });
    nodes[1] = await start(1);
    const within = (filters: object) => found(1, "spare", { filters });
    const inRow = await Promise.all([1, 2].map((row) => within({ "metadata.row": row }))); // the first searches
    expect(inRow).toEqual([[], ["The spare key is in the shed."]]);
    expect(await within({ tags: { $contains: "key" } })).toEqual(["The spare key is in the shed."]);
    const expected = ["The spare key is in the shed.", "The spare tyre is in the garage."];
    expect([...(await found(1, "spare"))].sort()).toEqual(expected);
    expect((await node(1).call("GET", `/v1/memories/${later.id}`)).body.status).toBe("completed");
  });

  test("changes whose notes were removed are found by comparing everything", async () => {
    const { body: gone } = await node(0).store({ content: "The old fence is red." });
    expect(await found(1, "old fence")).toEqual(["The old fence is red."]);
    // a lock keeps both nodes from reading the changes before their notes are gone
    await beside.unsafe("BEGIN; LOCK TABLE projects IN ACCESS EXCLUSIVE MODE");
    await beside.unsafe("UPDATE memories SET deleted_at = 1 WHERE id = $1", [gone.id]);
    await beside.unsafe("DELETE FROM project_changes");
    await beside.unsafe("COMMIT");
    expect(await found(1, "old fence")).toEqual([]);
    expect(await found(0, "old fence")).toEqual([]);
  });

  test("a key that one node changes or removes has no other right on a node that knows it, whatever it reads", async () => {
    const { body: memory } = await node(0).store({ content: "The barn is blue." });
    const { body: key } = await node(0).call("POST", "/v1/keys", {
      name: "reader",
      scopes: ["memories:read", "memories:write"],
    });
    const headers = { authorization: `Bearer ${key.key}` };
    const path = `/v1/memories/${memory.id}`;
    const read = () => node(1).call("GET", path, undefined, headers);
    const known = async () => {
      for (let time = 0; time < 2; time++) expect((await read()).status).toBe(200);
    };
    const change = (scopes: readonly string[]) => node(0).call("PATCH", `/v1/keys/${key.id}`, { scopes });

    await known();
    await change(["chats:read"]);
    expect((await read()).status).toBe(403);
    expect((await read()).status).toBe(403);
    await change(["memories:read", "memories:write"]);
    await known();

    expect((await node(0).call("DELETE", `/v1/keys/${key.id}`)).status).toBe(204);
    const refused = await Promise.all([
      ...Array.from({ length: 5 }, read),
      node(1).call("DELETE", path, undefined, headers),
      node(1).call("GET", "/v1/nothing", undefined, headers),
      node(1).call("GET", "/v1/memories/mem_00000000000000000000000000", undefined, headers),
    ]);
    for (const { status, body } of refused) {
      expect(status).toBe(401);
      expect(body.error.code).toBe("invalid_api_key");
    }
    expect((await node(1).call("GET", path)).body.content).toBe("The barn is blue.");
  });

  test("a project that one node removes is gone on the other", async () => {
    const { body } = await node(0).call("POST", "/v1/projects", { name: "second" });
    const headers = { authorization: `Bearer ${body.key}` };
    const stored = await node(0).call("POST", "/v1/memories", { content: "The barn is blue." }, headers);
    expect(stored.status).toBe(202);
    expect((await node(1).call("POST", "/v1/memories/search", { query: "barn" }, headers)).status).toBe(200);
    expect((await node(0).call("DELETE", `/v1/projects/${body.id}`)).status).toBe(204);
    expect((await node(1).call("POST", "/v1/memories/search", { query: "barn" }, headers)).status).toBe(401);
  });

  test("200 parallel requests over both nodes at a limit of 100: exactly 100 are admitted", async () => {
    await startBoth({ rateLimits: new Map([...RATE_LIMITS, ["GET /usage", 100]]) });
    const ask = (_: unknown, at: number) => node(at % 2).call("GET", "/v1/usage");
    const answers = await Promise.all(Array.from({ length: 200 }, ask));
    const counts = Map.groupBy(answers, ({ status }) => status);
    expect([counts.get(200)?.length, counts.get(429)?.length]).toEqual([100, 100]);
    const refused = await node(0).call("GET", "/v1/usage");
    expect([refused.status, refused.headers.get("x-ratelimit-remaining")]).toEqual([429, "0"]);
  });

  test("40 requests with one Idempotency-Key over both nodes make one memory", async () => {
    const send = (_: unknown, at: number) =>
      node(at % 2).call("POST", "/v1/memories", { content: "The gate is open." }, { "idempotency-key": "same" });
    const answers = await Promise.all(Array.from({ length: 40 }, send));
    const created = answers.filter(({ status }) => status === 202);
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ status }) => status !== 202 && status !== 409)).toEqual([]);
    expect((await node(1).call("GET", "/v1/memories")).body.data).toHaveLength(1);
    const again = await send(null, 1);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
  });

  test("a daily limit of tokens is that of both: memories that arrive together are extracted up to it and not beyond", async () => {
    const llm = startLlm(); // 120 tokens per call
    try {
      await startBoth({ llmBaseUrl: llm.baseUrl, llmModel: "m" });
      await node(0).call("PUT", "/v1/project", { smart_ingestion: { daily_token_limit: 360 } });
      const sent = await Promise.all(
        Array.from({ length: 12 }, (_, at) => node(at % 2).call("POST", "/v1/memories", { content: `Note ${at}.` })),
      );
      const done = await Promise.all(sent.map(({ body }, at) => node(at % 2).settled(body.id)));
      expect(done.every(({ body }) => body.status === "completed")).toBe(true);
      expect(done.filter(({ body }) => body.extraction === "llm")).toHaveLength(3);
      expect(llm.calls).toHaveLength(3);
    } finally {
      await llm.stop();
    }
  });

  test("each event is delivered once, whichever node sends it", async () => {
    await startBoth({ webhookAllow: AllowList.parse("127.0.0.1") });
    const receiver = receiveWebhooks();
    const body = { url: receiver.url("/hook"), events: ["memory.deleted"] };
    expect((await node(0).call("POST", "/v1/webhooks", body)).status).toBe(201);
    const ids: string[] = [];
    for (let at = 0; at < 20; at++) {
      const { body: memory } = await node(at % 2).call("POST", "/v1/memories", { content: `Bolt ${at}` });
      ids.push(memory.id);
    }
    await Promise.all(ids.map((id, at) => node(at % 2).call("DELETE", `/v1/memories/${id}`)));
    await until("all are delivered", () => receiver.at("/hook").length >= ids.length);
    const pending = "SELECT count(*)::int AS n FROM deliveries WHERE status = 'pending'";
    await until("nothing is pending", async () => (await beside.unsafe(pending))[0]?.n === 0);
    const delivered = receiver.at("/hook").map(({ id }) => id);
    expect(delivered).toHaveLength(ids.length);
    expect(new Set(delivered).size).toBe(ids.length);
    await receiver.stop();
  });

  test("a file that one node received is read by the other when the first is gone", async () => {
    await beside.unsafe("CREATE FUNCTION no_claim() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
    await beside.unsafe(`CREATE TRIGGER no_claim BEFORE UPDATE ON memories FOR EACH ROW
      WHEN (NEW.lease IS NOT NULL) EXECUTE FUNCTION no_claim()`);
    const form = new FormData();
    form.set("file", new File(["The oar is in the boat house."], "oar.txt", { type: "text/plain" }));
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    const request = new Request("http://mneme.test/v1/memories/upload", { method: "POST", headers, body: form });
    const { status, body } = await node(0).send(request);
    expect(status).toBe(202);
    await node(0).stop();
    rmSync(folders[0]?.path ?? "", { recursive: true });
    await beside.unsafe("DROP TRIGGER no_claim ON memories");
    // an idle node looks for the jobs of others every 30 s
    const statusOf = async () => (await node(1).call("GET", `/v1/memories/${body.id}`)).body.status;
    await until("the other node has read it", async () => (await statusOf()) === "completed");
    expect(await found(1, "oar boat")).toEqual(["The oar is in the boat house."]);
    const kept = "SELECT count(*)::int AS n FROM kept_files";
    await until("the file is removed", async () => (await beside.unsafe(kept))[0]?.n === 0);
    nodes[0] = await start(0);
  });

  test("a change of the embedding model on one node is followed by the other", async () => {
    const texts = ["The lamp is in the hall.", "The rope is in the barn.", "The saw is in the shed."];
    for (const content of texts) await node(0).store({ content });
    expect((await found(1, "lamp hall")).at(0)).toBe(texts[0]);
    const liveOf = async (at: number) => (await node(at).call("GET", "/v1/project/embedder")).body.model;
    const model = (await liveOf(1)) === MULTILINGUAL ? ENGLISH : MULTILINGUAL;
    const { body: project } = await node(1).call("GET", "/v1/project");
    expect((await node(1).call("PUT", `/v1/projects/${project.id}/embedder`, { model })).status).toBe(202);
    await until("both use the new model", async () => (await liveOf(0)) === model && (await liveOf(1)) === model);
    for (const at of [0, 1]) expect((await found(at, "rope barn")).at(0)).toBe(texts[1]);
    await node(0).store({ content: "The axe is in the yard." });
    expect((await found(1, "axe yard")).at(0)).toBe("The axe is in the yard.");
    const [{ again }] = await beside.unsafe("SELECT count(*)::int AS again FROM memories WHERE version > 1");
    expect(again).toBe(0); // no memory was processed again
  });
});
