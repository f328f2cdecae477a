// Calls every tool with every kind of key. Which tools a key sees and may call follows from its scopes alone. The
// memories contain random markers; no result may contain the marker of a memory that the key may not see.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { KeyScope } from "../../src/domain/scope.ts";
import { connectHttp, listen, type Peer } from "../support/mcp.ts";
import { seeded } from "../support/seeded.ts";
import { startService, type TestService } from "../support/service.ts";

const SCOPE_OF: Readonly<Record<string, KeyScope>> = {
  add_memory: "memories:write",
  search_memories: "memories:read",
  ask_memories: "query",
  get_memory: "memories:read",
  list_memories: "memories:read",
  update_memory: "memories:write",
  delete_memory: "memories:write",
  get_profile: "memories:read",
  search: "memories:read",
  fetch: "memories:read",
};
const OWNERS = ["ada", "ben", null] as const;
type Owner = (typeof OWNERS)[number];

/** A kind of key, and the owners whose memories it may see. */
interface KeyKind {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly userId?: string;
  readonly project?: string;
  readonly sees: readonly Owner[];
}

const KINDS: readonly KeyKind[] = [
  { name: "all scopes", scopes: ["*"], sees: OWNERS },
  { name: "read-only", scopes: ["memories:read"], sees: OWNERS },
  { name: "read and query", scopes: ["memories:read", "query"], sees: OWNERS },
  { name: "write-only", scopes: ["memories:write"], sees: OWNERS },
  { name: "other scopes", scopes: ["users:read", "chats:write", "webhooks", "keys"], sees: OWNERS },
  { name: "admin only", scopes: ["admin"], sees: OWNERS },
  { name: "confined to ada", scopes: ["*"], userId: "ada", sees: ["ada"] },
  { name: "confined to ada, read-only", scopes: ["memories:read"], userId: "ada", sees: ["ada"] },
  { name: "confined to a stranger", scopes: ["*"], userId: "eve", sees: [] },
  { name: "of another project", scopes: ["*"], project: "prj_00000000000000000000000009", sees: [] },
];

let mneme: TestService;
let server: ReturnType<typeof listen>;
const markers = new Map<Owner, string>();
const ids = new Map<Owner, string>();

beforeAll(async () => {
  mneme = await startService({ config: { mcpConnector: true } });
  server = listen(mneme);
  const next = seeded(54);
  for (const owner of OWNERS) {
    const marker = `marker${Math.floor(next() * 1e12)}x`;
    const content = `The harbour lantern of Port Ellery is kept by Maud Greenwood, says ${marker}.`;
    const { body } = await mneme.store({ content, tags: [marker], ...(owner !== null && { userId: owner }) });
    markers.set(owner, marker);
    ids.set(owner, body.id);
  }
});
afterAll(async () => {
  await server.stop();
  await mneme.stop();
});

/** Arguments for every tool, aimed at the memory of `owner`. */
function callsAt(owner: Owner): readonly (readonly [tool: string, args: object])[] {
  const memory_id = ids.get(owner) ?? "";
  const userId = owner ?? undefined;
  return [
    ["search_memories", { query: "harbour lantern", limit: 100 }],
    ["search_memories", { query: "harbour lantern", userId, includeGraph: true, mode: "precise" }],
    ["search_memories", { query: "harbour lantern", filters: { $or: [{ userId: owner }, { memory_id }] } }],
    ["ask_memories", { query: "who keeps the harbour lantern?" }],
    ["ask_memories", { query: "who keeps the harbour lantern?", userId }],
    ["get_memory", { memory_id }],
    ["list_memories", { limit: 100 }],
    ["list_memories", { userId, tag: markers.get(owner) }],
    ["get_profile", {}],
    ["get_profile", { userId }],
    ["search", { query: "harbour lantern" }],
    ["fetch", { id: memory_id }],
  ];
}

describe.each([...KINDS])("a key of kind $name", ({ scopes, userId, project, sees }) => {
  let peer: Peer;
  const allows = (tool: string) => {
    const scope = SCOPE_OF[tool] as KeyScope;
    return scopes.includes(scope) || scopes.includes("*");
  };

  beforeAll(async () => {
    const key = mneme.addKey(scopes, project, { ...(userId !== undefined && { userId }) });
    peer = await connectHttp("2026-07-28", server.url, key);
  });
  afterAll(() => peer.close());

  test("sees the tools that its scopes allow", async () => {
    const names = (await peer.tools()).map(({ name }) => name);
    expect(names).toEqual(Object.keys(SCOPE_OF).filter(allows));
  });

  test("reads what it may see, and nothing else", async () => {
    for (const owner of OWNERS) {
      for (const [tool, args] of callsAt(owner)) {
        const result = await peer.call(tool, args);
        const shown = JSON.stringify(result);
        for (const [other, marker] of markers) {
          const isGiven = JSON.stringify(args).includes(marker);
          if (!sees.includes(other) && !isGiven) expect(shown).not.toContain(marker);
        }
        if (!allows(tool)) expect(result.error).toMatchObject({ code: "insufficient_scope", status: 403 });
        else if (result.isError) expect(result.error.status).toBeOneOf([403, 404]);
        const isAimed = tool === "get_memory" || tool === "fetch";
        if (isAimed && allows(tool)) {
          expect(result.isError).toBe(!sees.includes(owner));
          if (result.isError) expect(result.error.code).toBe("memory_not_found");
        }
        const named = "userId" in args ? args.userId : undefined;
        if (allows(tool) && userId !== undefined && named !== undefined && named !== userId) {
          expect(result.error).toMatchObject({ code: "insufficient_scope", status: 403 });
        }
      }
    }
  });

  test("changes nothing that it may not change", async () => {
    for (const owner of OWNERS.filter((owner) => !allows("update_memory") || !sees.includes(owner))) {
      const memory_id = ids.get(owner) ?? "";
      for (const [tool, args] of [
        ["update_memory", { memory_id, title: "stolen" }],
        ["update_memory", { memory_id, content: "stolen", userId: userId ?? "eve" }],
        ["delete_memory", { memory_id }],
        ["delete_memory", { memory_id, purge: true }],
      ] as const) {
        const { error } = await peer.call(tool, args);
        expect(error.code).toBe(allows(tool) ? "memory_not_found" : "insufficient_scope");
      }
      const { status, body } = await mneme.call("GET", `/v1/memories/${memory_id}`);
      expect(status).toBe(200);
      expect(body.title).not.toBe("stolen");
      expect(body.content).toContain(markers.get(owner));
    }
  });

  test("stores for itself only", async () => {
    const before = (await mneme.call("GET", "/v1/memories?limit=100")).body.data.length;
    const other = await peer.call("add_memory", { content: "planted", userId: "ben", wait_seconds: 0 });
    const isStored = allows("add_memory") && userId === undefined;
    expect(other.isError).toBe(!isStored);
    if (!isStored) expect(other.error.code).toBe("insufficient_scope");
    const after = (await mneme.call("GET", "/v1/memories?limit=100")).body.data;
    expect(after.length - before).toBe(isStored && project === undefined ? 1 : 0);
    if (isStored) await peer.done("delete_memory", { memory_id: other.data.memory_id, purge: true });

    if (!allows("add_memory") || userId === undefined) return;
    const own = await peer.done("add_memory", { content: "my own", wait_seconds: 0 });
    const { body } = await mneme.call("GET", `/v1/memories/${own.memory_id}`);
    expect(body.userId).toBe(userId);
    await peer.done("delete_memory", { memory_id: own.memory_id, purge: true });
  });
});

test("a key that was revoked gets 401 at the next call", async () => {
  const key = mneme.addKey(["memories:read", "keys"]);
  const peer = await connectHttp("2026-07-28", server.url, key);
  await peer.done("list_memories");
  const { body } = await mneme.call("GET", "/v1/keys?limit=100");
  for (const { id, scopes } of body.data) {
    if (scopes.join() === "memories:read,keys") await mneme.call("DELETE", `/v1/keys/${id}`);
  }
  await expect(peer.call("list_memories")).rejects.toThrow();
  await peer.close();
});

test("without a key there is no tool", async () => {
  await expect(connectHttp("2026-07-28", server.url, "ctx_unknown")).rejects.toThrow();
  await expect(connectHttp("2025-11-25", server.url, "ctx_unknown")).rejects.toThrow();
});
