// Exports of each product on disk: what becomes of their records, and what is reported. The exports are written here,
// in the forms that the products' documentation and clients show.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zipSync } from "fflate";
import type { Found, ImportedMemory } from "../../src/importers/imported.ts";
import { foundIn } from "../../src/importers/importers.ts";
import { systemClock } from "../../src/kit/clock.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-importers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function written(content: string | Uint8Array, extension = "json"): string {
  const path = join(folder, `${files++}.${extension}`);
  writeFileSync(path, content);
  return path;
}

async function found(from: string, source: string): Promise<readonly Found[]> {
  const all: Found[] = [];
  const environment = {};
  for await (const item of foundIn({ from, source, environment, clock: systemClock, report: () => undefined })) {
    all.push(item);
  }
  return all;
}

async function foundInJson(from: string, value: unknown): Promise<readonly Found[]> {
  return found(from, written(JSON.stringify(value)));
}

/** The only memory of an export. */
async function onlyMemory(from: string, value: unknown): Promise<ImportedMemory> {
  const [memory, ...others] = await foundInJson(from, value);
  expect(others).toEqual([]);
  if (memory?.kind !== "memory") throw new Error(`no memory: ${JSON.stringify(memory)}`);
  return memory;
}

const turns = (memory: ImportedMemory) => JSON.parse(String(memory.memory.content)) as unknown;
const notes = (all: readonly Found[]) => all.flatMap((item) => (item.kind === "memory" ? [] : [[item.kind, item.why]]));

describe("mem0", () => {
  const record = {
    id: "9f1c",
    memory: "Likes tea",
    user_id: "ada",
    agent_id: "butler",
    run_id: "r1",
    app_id: null,
    hash: "abc",
    metadata: { topic: "drinks", _private: 1 },
    categories: ["food", "habits"],
    created_at: "2026-01-02T03:04:05.678901-07:00",
    updated_at: "2026-02-02T00:00:00Z",
    expiration_date: null,
    score: 0,
  };
  test("memories keep text, user, tags, metadata and time; what has no place is named", async () => {
    const { memory, mapped, unplaced } = await onlyMemory("mem0", { count: 1, next: null, results: [record] });
    expect(memory).toEqual({
      content: "Likes tea",
      userId: "ada",
      agentId: "butler",
      sessionId: "r1",
      tags: ["food", "habits"],
      occurred_at: "2026-01-02T10:04:05.678Z",
      metadata: {
        topic: "drinks",
        private: 1,
        mem0: { id: "9f1c", updated_at: "2026-02-02T00:00:00Z" },
      },
      externalId: "mem0:9f1c",
    });
    expect(mapped).toContain("memory → content");
    expect(mapped).toContain("agent_id → agentId");
    expect(unplaced).toEqual(["hash", "score"]);
  });
  test("lists, objects with memories, and lines are read alike", async () => {
    const expected = [await onlyMemory("mem0", [record])].map(({ memory }) => memory);
    for (const text of [
      JSON.stringify({ memories: [record] }),
      JSON.stringify(record),
      `${JSON.stringify(record)}\n`,
    ]) {
      const all = await found("mem0", written(text));
      expect(all.map((item) => item.kind === "memory" && item.memory)).toEqual(expected);
    }
    const packed = await found("mem0", written(Bun.gzipSync(Buffer.from(JSON.stringify([record]))), "json.gz"));
    expect(packed).toHaveLength(1);
  });
  test("a memory without id has the same external id again, and another one with another text or user", async () => {
    const idOf = async (value: object) => (await onlyMemory("mem0", [value])).memory.externalId;
    const first = await idOf({ memory: "a", user_id: "u" });
    expect(first).toMatch(/^mem0:sha256-[0-9a-f]{64}$/);
    expect(await idOf({ memory: "a", user_id: "u", score: 2 })).toBe(first);
    expect(await idOf({ memory: "b", user_id: "u" })).not.toBe(first);
    expect(await idOf({ memory: "a", user_id: "v" })).not.toBe(first);
    expect(await idOf({ memory: "a", id: "x".repeat(300) })).toMatch(/^mem0:sha256-/);
  });
  test("what is damaged is reported, and the rest comes along", async () => {
    const all = await foundInJson("mem0", [
      { id: 1 },
      7,
      { id: 2, memory: " " },
      { version: 9, items: [1] },
      { id: 3, memory: "ok" },
    ]);
    expect(notes(all)).toEqual([
      ["damaged", "has no text"],
      ["damaged", "is not a memory of mem0"],
      ["damaged", "has no text"],
      ["damaged", "has none of the fields of a memory of mem0"],
    ]);
    expect(all.at(-1)).toMatchObject({ kind: "memory", memory: { externalId: "mem0:3" } });
  });
  test("metadata over 10 KB loses its largest members, tags beyond 50 are named, bad texts are mended", async () => {
    const metadata = { small: "x", large: "y".repeat(11_000) };
    const categories = Array.from({ length: 60 }, (_, at) => `t${at}`);
    const { memory, unplaced } = await onlyMemory("mem0", [{ id: 1, memory: "a\0b\ud800", metadata, categories }]);
    expect(memory).toMatchObject({ content: "ab\ufffd", tags: categories.slice(0, 50), metadata: { small: "x" } });
    expect(unplaced).toEqual(["categories after the first 50", "metadata.large (metadata over 10240 bytes)"]);
  });
  test("a packed export that is cut off gives what can be read, and an error", async () => {
    const packed = Bun.gzipSync(
      Buffer.from(JSON.stringify(Array.from({ length: 2000 }, (_, id) => ({ id, memory: crypto.randomUUID() })))),
    );
    const all = await found("mem0", written(packed.slice(0, packed.length / 2), "json.gz"));
    expect(all.at(-1)).toMatchObject({ kind: "damaged" });
  });
});

describe("supermemory", () => {
  test("documents keep content, title, type, owner, link and metadata", async () => {
    const { memory, unplaced } = await onlyMemory("supermemory", {
      memories: [
        {
          id: "doc1",
          customId: "mine",
          containerTags: ["user_7", "project_x"],
          content: "Rust has no garbage collector.",
          title: "Rust",
          type: "text",
          url: "https://example.com/rust",
          summary: "About Rust",
          status: "done",
          metadata: { category: "language" },
          createdAt: "2026-03-04T05:06:07.000Z",
          updatedAt: "2026-03-05T05:06:07.000Z",
        },
      ],
      pagination: { currentPage: 1, totalPages: 1 },
    });
    expect(memory).toEqual({
      content: "Rust has no garbage collector.",
      title: "Rust",
      type: "text",
      userId: "user_7",
      occurred_at: "2026-03-04T05:06:07.000Z",
      metadata: {
        containerTags: ["project_x"],
        category: "language",
        url: "https://example.com/rust",
        supermemory: { id: "doc1", customId: "mine", updatedAt: "2026-03-05T05:06:07.000Z" },
      },
      externalId: "supermemory:doc1",
    });
    expect(unplaced).toEqual(["summary"]);
  });
  test("forgotten memories are skipped, replaced ones say by what; a document without content gives its summary and says so", async () => {
    const all = await foundInJson("supermemory", {
      documents: [{ id: "d", content: null, summary: "Short", system: { createdAt: "2026-01-01T00:00:00Z" } }],
      memories: [
        { id: "m1", memory: "old", isLatest: false },
        { id: "m4", memory: "new", parentMemoryId: "m1", version: 2 },
        { id: "m2", memory: "gone", isForgotten: true },
        { id: "m3", memory: "kept", isLatest: true, isForgotten: false },
      ],
    });
    expect(notes(all)).toEqual([["skipped", "forgotten there"]]);
    expect(all[1]).toMatchObject({
      ...{ memory: { content: "old" }, replacedAs: "m1" },
      replacedWhy: "replaced there by a version that is not here",
    });
    expect(all[2]).toMatchObject({ memory: { content: "new" }, replaces: ["m1"], unplaced: [] });
    expect(all[0]).toMatchObject({
      memory: { content: "Short", occurred_at: "2026-01-01T00:00:00.000Z" },
      unplaced: ["content (only the summary is in the export)"],
    });
    expect(all.at(-1)).toMatchObject({ memory: { content: "kept" } });
  });
});

describe("hindsight", () => {
  test("facts keep text, event time, tags and what is known of them; invalidated ones are skipped", async () => {
    const all = await foundInJson("hindsight", {
      items: [
        {
          id: "f1",
          text: "Alice moved to Oslo",
          context: "chat",
          date: "2026-04-01T00:00:00Z",
          occurred_start: "2026-04-01T00:00:00Z",
          fact_type: "world",
          entities: "Alice, Oslo",
          tags: ["moves"],
          metadata: { source: "slack" },
          state: "valid",
          proof_count: 2,
        },
        { id: "f2", text: "wrong", state: "invalidated" },
      ],
      total: 2,
    });
    expect(all[0]).toMatchObject({
      memory: {
        content: "Alice moved to Oslo",
        occurred_at: "2026-04-01T00:00:00.000Z",
        tags: ["moves"],
        metadata: {
          source: "slack",
          hindsight: { id: "f1", fact_type: "world", context: "chat", entities: "Alice, Oslo" },
        },
        externalId: "hindsight:f1",
      },
      unplaced: ["proof_count"],
    });
    expect(notes(all)).toEqual([["skipped", "invalidated there"]]);
  });
});

describe("graphiti and zep", () => {
  const graph = {
    episodes: [
      {
        uuid: "e1",
        name: "Standup",
        group_id: "team",
        source: "text",
        source_description: "notes",
        content: "Ada joins the team.",
        valid_at: "2026-05-01T09:00:00+00:00",
        created_at: "2026-05-02T09:00:00+00:00",
        entity_edges: ["x1"],
      },
    ],
    edges: [
      {
        uuid: "x1",
        group_id: "team",
        name: "MEMBER_OF",
        fact: "Ada is a member of the team",
        fact_embedding: [0.1, 0.2],
        valid_at: "2026-05-01T09:00:00Z",
        invalid_at: null,
        source_node_uuid: "n1",
        target_node_uuid: "n2",
      },
      {
        ...{ uuid: "x2", name: "MEMBER_OF", fact: "Ada was a guest", source_node_uuid: "n1", group_id: "team" },
        invalid_at: "2026-05-01T09:00:00Z",
      },
    ],
    nodes: [
      { uuid: "n1", name: "Ada", labels: ["Entity", "Person"], summary: "An engineer", group_id: "team" },
      { uuid: "n2", name: "Team", labels: ["Entity"], summary: "" },
    ],
  };
  test("episodes, facts and summaries become memories of their group; bare entities are skipped", async () => {
    const all = await foundInJson("graphiti", graph);
    expect(all.flatMap((item) => (item.kind === "memory" ? [item.memory] : []))).toEqual([
      {
        content: "Ada joins the team.",
        title: "Standup",
        occurred_at: "2026-05-01T09:00:00.000Z",
        userId: "team",
        metadata: {
          graphiti: {
            uuid: "e1",
            source: "text",
            source_description: "notes",
            created_at: "2026-05-02T09:00:00+00:00",
          },
        },
        externalId: "graphiti:e1",
      },
      {
        content: "Ada is a member of the team",
        occurred_at: "2026-05-01T09:00:00.000Z",
        userId: "team",
        metadata: { graphiti: { uuid: "x1", name: "MEMBER_OF", source_node_uuid: "n1", target_node_uuid: "n2" } },
        externalId: "graphiti:x1",
      },
      {
        content: "Ada was a guest",
        userId: "team",
        metadata: {
          graphiti: { uuid: "x2", name: "MEMBER_OF", source_node_uuid: "n1", invalid_at: "2026-05-01T09:00:00Z" },
        },
        externalId: "graphiti:x2",
      },
      {
        content: "Ada: An engineer",
        title: "Ada",
        tags: ["Person"],
        userId: "team",
        metadata: { graphiti: { uuid: "n1" } },
        externalId: "graphiti:n1",
      },
    ]);
    expect(notes(all)).toEqual([["skipped", "entity without a summary"]]);
    const [, member, guest] = all as readonly { replaces?: readonly string[]; replacedAs?: string }[];
    expect(member?.replaces).toEqual([guest?.replacedAs ?? ""]);
    expect(all[1]).toMatchObject({ unplaced: ["fact_embedding"] });
    expect(all[0]).toMatchObject({ unplaced: ["entity_edges"] });
  });
  test("threads of Zep become conversations, with speakers and times of messages", async () => {
    const memory = await onlyMemory("zep", {
      threads: [
        {
          thread_id: "t1",
          user_id: "ada",
          created_at: "2026-06-01T00:00:00Z",
          messages: [
            { uuid: "m1", role: "user", name: "Ada", content: "Where is Skarn?", created_at: "2026-06-01T10:00:00Z" },
            { uuid: "m2", role: "assistant", content: "In the north.", created_at: "2026-06-01T10:00:01Z" },
            { uuid: "m3", role: "tool", content: "" },
          ],
        },
      ],
    });
    expect(memory.memory).toMatchObject({
      type: "conversation",
      userId: "ada",
      sessionId: "t1",
      occurred_at: "2026-06-01T10:00:00.000Z",
      externalId: "zep:thread:t1",
    });
    expect(turns(memory)).toEqual([
      { role: "Ada", content: "Where is Skarn?", created_at: "2026-06-01T10:00:00.000Z" },
      { role: "assistant", content: "In the north.", created_at: "2026-06-01T10:00:01.000Z" },
    ]);
  });
  test("records of another kind are reported", async () => {
    expect(notes(await foundInJson("zep", [{ foo: 1 }, { thread_id: "t", user_id: "u" }, "x"]))).toEqual([
      ["damaged", "has neither messages nor a fact, content or summary"],
      ["skipped", "thread without messages"],
      ["damaged", "is no record of zep"],
    ]);
  });
});

describe("chatgpt", () => {
  const message = (role: string, parts: unknown, more: object = {}) => ({
    author: { role },
    create_time: 1_700_000_000.5,
    content: { content_type: "text", parts },
    recipient: "all",
    ...more,
  });
  const conversation = {
    id: "c1",
    conversation_id: "c1",
    title: "Trip to Skarn",
    create_time: 1_700_000_000.25,
    update_time: 1_700_000_100,
    current_node: "n4",
    moderation_results: [{}],
    mapping: {
      root: { id: "root", message: null, parent: null, children: ["n0"] },
      n0: { message: message("system", ["hidden"]), parent: "root", children: ["n1"] },
      n1: {
        message: message("user", ["When does it open?", { asset_pointer: "file://1" }]),
        parent: "n0",
        children: ["n2", "n3"],
      },
      n2: { message: message("assistant", ["A first answer"]), parent: "n1", children: [] },
      n3: { message: message("assistant", ["search()"], { recipient: "browser" }), parent: "n1", children: ["n4"] },
      n4: { message: message("assistant", ["At nine.\nNote: not on Sundays."]), parent: "n3", children: [] },
    },
  };
  test("the shown branch of a conversation comes along; the report names what does not", async () => {
    const memory = await onlyMemory("chatgpt", [conversation]);
    expect(memory.memory).toMatchObject({
      title: "Trip to Skarn",
      type: "conversation",
      occurred_at: "2023-11-14T22:13:20.250Z",
      metadata: { chatgpt: { conversation_id: "c1", update_time: 1_700_000_100 } },
      externalId: "chatgpt:c1",
    });
    expect(turns(memory)).toEqual([
      { role: "user", content: "When does it open?", created_at: "2023-11-14T22:13:20.500Z" },
      { role: "assistant", content: "At nine.\nNote: not on Sundays.", created_at: "2023-11-14T22:13:20.500Z" },
    ]);
    expect(memory.unplaced).toEqual([
      "mapping: messages of other branches",
      "mapping: messages of tools, thoughts and hidden messages",
      "mapping: pictures, files and other parts of messages",
      "moderation_results",
    ]);
  });
  test("a tree without a current message, with a circle, or without texts is read without harm", async () => {
    const { current_node: _, ...without } = conversation;
    expect(turns(await onlyMemory("chatgpt", [without]))).toHaveLength(2);
    const circle = { a: { message: message("user", ["hi"]), parent: "b" }, b: { message: null, parent: "a" } };
    expect(turns(await onlyMemory("chatgpt", [{ id: "x", mapping: circle, current_node: "a" }]))).toHaveLength(1);
    expect(notes(await foundInJson("chatgpt", [{ id: "y", mapping: {} }, { id: "z" }]))).toEqual([
      ["skipped", "conversation without texts"],
      ["damaged", "is no conversation of ChatGPT: it has no mapping of messages"],
    ]);
  });
  test("the archive of an export, its folder and a numbered file are read; other files in them are not", async () => {
    const json = new TextEncoder().encode(JSON.stringify([conversation]));
    const other = new TextEncoder().encode("[{}]");
    const zip = written(zipSync({ "conversations-000.json": json, "user.json": other, "image.png": other }), "zip");
    expect(await found("chatgpt", zip)).toMatchObject([{ place: "conversations-000.json: item 1 at byte 1" }]);
    const unpacked = join(folder, "unpacked");
    mkdirSync(unpacked);
    writeFileSync(join(unpacked, "conversations.json"), json);
    writeFileSync(join(unpacked, "user.json"), other);
    expect(await found("chatgpt", unpacked)).toHaveLength(1);
  });
  test("a damaged or foreign archive is refused in words", async () => {
    const json = new TextEncoder().encode(JSON.stringify([conversation, ...Array(50).fill(conversation)]));
    const zip = zipSync({ "conversations.json": json });
    expect(found("chatgpt", written(zip.slice(0, -30), "zip"))).rejects.toThrow("is cut off");
    expect(found("chatgpt", written(zipSync({ "a.json": json }), "zip"))).rejects.toThrow(
      "has no file of such an export",
    );
    const flipped = zip.slice();
    flipped.fill(0x55, 100, 160);
    expect((await found("chatgpt", written(flipped, "zip"))).at(-1)).toMatchObject({ kind: "damaged" });
    const wrongSum = zipSync({ "conversations.json": json }, { level: 0 });
    const at = Buffer.from(wrongSum).indexOf("Trip to Skarn");
    wrongSum[at] = "D".charCodeAt(0);
    expect((await found("chatgpt", written(wrongSum, "zip"))).at(-1)).toMatchObject({
      kind: "damaged",
      why: expect.stringContaining("checksum"),
    });
  });
});

describe("claude", () => {
  test("conversations with attachments, documents of projects, and Claude's own memory come along", async () => {
    const conversations = [
      {
        uuid: "k1",
        name: "Tea",
        account: { uuid: "acc" },
        created_at: "2026-07-01T00:00:00.000000Z",
        updated_at: "2026-07-02T00:00:00.000000Z",
        chat_messages: [
          {
            uuid: "a",
            sender: "human",
            text: "Read this",
            content: [{ type: "text", text: "Read this" }],
            created_at: "2026-07-01T00:00:01Z",
            attachments: [{ file_name: "tea.txt", extracted_content: "Green tea: 80 degrees." }],
            files: [{ file_name: "pic.png" }],
          },
          {
            uuid: "b",
            sender: "assistant",
            text: "ignored, because content has it",
            content: [
              { type: "thinking", thinking: "hm" },
              { type: "text", text: "80 degrees." },
            ],
            created_at: "2026-07-01T00:00:02Z",
            attachments: [],
            files: [],
          },
        ],
      },
      { uuid: "k2", name: "", chat_messages: [] },
    ];
    const projects = [{ uuid: "p", name: "Tea house", docs: [{ uuid: "d", filename: "menu.md", content: "# Menu" }] }];
    const memories = [
      { account_uuid: "acc", conversations_memory: "Likes tea", project_memories: { p: "Opens in May" } },
    ];
    const zip = zipSync(
      Object.fromEntries(
        Object.entries({ conversations, projects, memories, users: [{}] }).map(([name, value]) => [
          `${name}.json`,
          new TextEncoder().encode(JSON.stringify(value)),
        ]),
      ),
    );
    const all = await found("claude", written(zip, "zip"));
    const [chat, ...others] = all.filter((item) => item.kind === "memory");
    if (chat === undefined) throw new Error("no conversation");
    expect(chat.memory).toMatchObject({ title: "Tea", externalId: "claude:k1", type: "conversation" });
    expect(turns(chat)).toEqual([
      {
        role: "user",
        content: "Read this\n\ntea.txt:\nGreen tea: 80 degrees.",
        created_at: "2026-07-01T00:00:01.000Z",
      },
      { role: "assistant", content: "80 degrees.", created_at: "2026-07-01T00:00:02.000Z" },
    ]);
    expect(chat.unplaced).toEqual([
      "chat_messages: files and pictures",
      "chat_messages: thoughts, calls of tools and their results",
    ]);
    expect(others.map(({ memory }) => [memory.content, memory.title, memory.externalId])).toEqual([
      ["# Menu", "menu.md", "claude:d"],
      ["Likes tea", undefined, "claude:memory:acc:conversations_memory"],
      ["Opens in May", undefined, "claude:memory:acc:p"],
    ]);
    expect(notes(all)).toEqual([["skipped", "conversation without texts"]]);
  });
});

describe("markdown-folder", () => {
  const vault = join(folder, "vault");
  const note = (path: string, text: string | Uint8Array) => {
    mkdirSync(join(vault, path, ".."), { recursive: true });
    writeFileSync(join(vault, path), text);
  };
  test("notes keep text, title, tags, dates and front matter; what is damaged is reported", async () => {
    note(
      "Tea.md",
      "---\ntitle: Green tea\ntags: [drinks, '#hot']\ndate: 2026-08-01\nrating: 5\naliases:\n  - Sencha\n---\n# Tea\n80 degrees. [[Cup]]\n",
    );
    note("sub/Cup.md", "A cup holds 0.2 l.");
    note("sub/rule.md", "---\nno front matter, but a rule");
    note("empty.md", "---\ntitle: x\n---\n\n");
    note("broken.md", "---\ntags: [a\n---\ntext");
    note("list.md", "---\n- a\n---\ntext");
    note("latin.md", new Uint8Array([0x63, 0x61, 0x66, 0xe9]));
    note(
      "bomb.md",
      `---\na: &a [${"1,".repeat(100)}]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n---\nBomb`,
    );
    note("picture.png", "no text");
    note(".obsidian/app.md", "settings");
    symlinkSync(vault, join(vault, "loop"));
    const all = await found("markdown-folder", vault);
    const memories = all.flatMap((item) => (item.kind === "memory" ? [item] : []));
    expect(memories.map(({ place }) => place)).toEqual(["Tea.md", "bomb.md", "sub/Cup.md", "sub/rule.md"]);
    expect(memories[0]?.memory).toEqual({
      content: "# Tea\n80 degrees. [[Cup]]\n",
      title: "Green tea",
      tags: ["drinks", "hot"],
      occurred_at: "2026-08-01T00:00:00.000Z",
      metadata: { path: "Tea.md", rating: 5, aliases: ["Sencha"] },
      externalId: "markdown:path:Tea.md",
    });
    expect(memories[2]?.memory).toEqual({
      content: "A cup holds 0.2 l.",
      title: "Cup",
      metadata: { path: "sub/Cup.md" },
      externalId: "markdown:path:sub/Cup.md",
    });
    expect(memories[3]?.memory.content).toBe("---\nno front matter, but a rule");
    expect(memories[1]?.unplaced).toContain("d");
    expect(all.flatMap((item) => (item.kind === "memory" ? [] : [[item.place, item.kind]]))).toEqual([
      ["picture.png", "skipped"],
      ["broken.md", "damaged"],
      ["empty.md", "skipped"],
      ["latin.md", "damaged"],
      ["list.md", "damaged"],
    ]);
  });
  test("a folder without notes, and a path that is none, are refused", async () => {
    mkdirSync(join(folder, "none"));
    expect(found("markdown-folder", join(folder, "none"))).rejects.toThrow("has no Markdown files");
    expect(found("markdown-folder", join(folder, "missing"))).rejects.toThrow("ENOENT");
    expect(found("markdown-folder", written("x", "md"))).rejects.toThrow("is no folder");
  });
});
